"""Finds the language of texts by their n-grams, with py3langid (Lui and Baldwin 2012), which knows 140 languages."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING

from moverank.rerank.errors import MissingExtra, OptionError
from moverank.rerank.words.languages import CODES, NO_LANGUAGE, language_of

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

FIRST_TEXTS = 200
"""The number of texts that determine the language of a collection."""

BEGINNING = 1000
"""The number of characters of a text that are compared."""

_ENOUGH, _LEAST = 100, 20
"""Letters of a block: short texts of a script are joined, since their language is uncertain; the last may be short."""

_CERTAIN = 0.3
"""The probability from which a block has a language; it is .1 and less for numbers and source code."""

_SAME = {"arz": "ar", "ary": "ar", "nn": "no", "pcm": "en", "wuu": "zh", "yue": "zh", "zxx": ""}
"""The languages whose words other ones have, mostly varieties of them; zxx is no language, such as numbers."""


@dataclass(frozen=True, slots=True)
class Detected:
    """The languages of some texts: how many are of each, by ISO code, "" for those without a language."""

    numbers: Counter[str]
    texts: int
    """The number of texts, also of those that are too short."""

    @property
    def main(self) -> str:
        """Return the code of the language of most of the texts, which `CODES` may lack; "" if there is none."""
        code, number = max(self.numbers.items(), key=lambda item: item[1], default=("", 0))
        return code if 2 * number > self.numbers.total() else ""

    @property
    def code(self) -> str:
        """Return the code, one of `CODES`, of these texts; "none" for several languages and for one without a code."""
        return self.main if self.main in CODES else NO_LANGUAGE

    def share(self, code: str) -> float:
        """Return the share of the texts that are of a language, 0 to 1."""
        return self.numbers[code] / max(1, self.numbers.total())

    @property
    def spaces(self) -> bool:
        """Return whether there are spaces between the words of all these languages."""
        return all(language_of(code).spaces for code in self.numbers if code in CODES)


def detect_language(texts: Iterable[str]) -> str:
    """Return the ISO code of the language of most of the first 200 `texts`, "none" if there is no such language.

    It is one of those that `Settings` and `Reranker` take. Raises OptionError for anything but texts, and MissingExtra
    without the package `py3langid`.
    """
    first: list[object] = [None]
    if isinstance(texts, Iterable) and not isinstance(texts, str):
        first = list(islice(texts, FIRST_TEXTS))
    if not all(isinstance(one, str) for one in first):
        raise OptionError(f"the language is found in a list of texts, not in {repr(texts)[:60]}")
    return detected(map(str, first)).code


def detected(texts: Iterable[str]) -> Detected:
    """Return the languages of the first 200 texts; raises MissingExtra without the package `py3langid`."""
    first = [text[:BEGINNING] for text in islice(texts, FIRST_TEXTS)]
    identify = _identifier().classify
    found = Counter[str]()
    for texts_of_block in _blocks(first):
        code, probability = identify("\n".join(texts_of_block))
        found[_SAME.get(code, code) if probability >= _CERTAIN else ""] += len(texts_of_block)
    return Detected(found, len(first))


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the texts, short ones of a script together."""
    blocks = dict[str, tuple[list[str], int]]()
    for text in texts:
        script = _script(text)
        block, letters = blocks.pop(script, ([], 0))
        block.append(text)
        letters += sum(map(str.isalpha, text))
        if letters >= _ENOUGH:
            yield block
        else:
            blocks[script] = block, letters
    yield from (block for block, letters in blocks.values() if letters >= _LEAST)


def _script(text: str) -> str:
    """Return the script of the first letter of a text, such as LATIN; Han and kana are one."""
    first = next(filter(str.isalpha, text), " ")
    name = unicodedata.name(first, "").partition(" ")[0]
    return "CJK" if name in ("HIRAGANA", "KATAKANA") else name


def check_detection() -> None:
    """Raise MissingExtra without the package that finds languages."""
    if not can_detect():
        raise MissingExtra(
            "finding the language of texts needs a package that is not installed: "
            "python -m pip install 'moverank[languages]'"
        )


def can_detect() -> bool:
    """Return whether the package that finds languages is installed."""
    return find_spec("py3langid") is not None


@cache
def _identifier() -> "LanguageIdentifier":
    check_detection()
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # on first use: an extra; its model takes 0.7 s

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
