"""Splits runs of scripts that have no spaces between words: by ICU's dictionary, or by the words of a vocabulary.

The scripts are Han, Hiragana, Katakana, Hangul, Thai, Lao, Khmer and Burmese. A run is split between clusters only: a
base character with its marks, and in Khmer and Burmese the consonants that are stacked below it. Runs are expected in
NFC: NFKC takes the Thai and Lao vowel am apart, and no dictionary has its parts.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from itertools import accumulate, islice, pairwise
from typing import TYPE_CHECKING, Protocol

from moverank.rerank.errors import MissingExtra, OptionError
from moverank.rerank.words.folding import ended, fold, word_pattern

if TYPE_CHECKING:
    from icu4py.breakers import WordBreaker

_HAN = "\u3005-\u3007\u3021-\u3029\u3038-\u303c\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_KANA = (
    "\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"
    "\U0001aff0-\U0001affe\U0001b000-\U0001b16f"
)
_SCRIPTS = {
    "zh": _HAN,
    "ja": _HAN + _KANA,
    "ko": "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7c6\ud7cb-\ud7fb\uffa0-\uffdc",
    "th": "\u0e01-\u0e30\u0e32\u0e40-\u0e46",
    "lo": "\u0e81-\u0eb0\u0eb2\u0ebd\u0ec0-\u0ec6\u0edc-\u0edf",
    "km": "\u1780-\u17b3\u17d7\u17dc",
    "my": "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065-\u1066\u106e-\u1070\u1075-\u1081\u108e"
    "\ua9e0-\ua9e4\ua9e6-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a\uaa7e-\uaa7f",
}
"""The letters of each language that needs no spaces between words, and of Korean."""

_LETTERS = "".join(_SCRIPTS.values())
_MARKS = (
    "\u0300-\u036f\ufe00-\ufe0f\U000e0100-\U000e01ef\u302a-\u302f\u3099-\u309a\uff9e-\uff9f"  # any script, kana
    "\u0e31\u0e33-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb3-\u0ebc\u0ec8-\u0ece"  # Thai, Lao: also the letters am
    "\u17b4-\u17d3\u17dd"  # Khmer
    "\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d"
    "\ua9e5\uaa7b-\uaa7d"
)
_JOINERS = "\u200c\u200d"  # invisible, within words
_STACKERS = "\u1039\u17d2"  # Burmese virama, Khmer coeng: the next consonant is written below

_LONGEST, _MOST = 32, 500_000
"""The characters of a word of a vocabulary, since files hold whole sentences as words, and its number of words."""

_MOST_CLUSTERS = 4
"""How long the parts of texts are that serve as words."""

_LEAST_TIMES, _CLUSTERS_PER_TIME = range(3, 11), 5_000
"""How often they occur: the more often the longer the texts, within these limits."""

MOST_WORDS, FEWEST_WORDS = 20_000, 1_000
"""The words of a vocabulary that a collection keeps (for BM25, 10,000 are enough), and how many word vectors must have,
since files of other languages have some words of all scripts."""


@cache
def runs() -> re.Pattern[str]:
    """Return the pattern of a run: letters of the scripts without spaces, with the marks that follow them."""
    return re.compile(f"[{_LETTERS}][{_LETTERS}{_MARKS}]*(?:[{_JOINERS}]+[{_LETTERS}{_MARKS}]+)*")


@cache
def _cluster() -> re.Pattern[str]:
    return re.compile(f".(?:[{_MARKS}{_JOINERS}]|(?<=[{_STACKERS}])[{_LETTERS}])*", re.DOTALL)


def clusters(run: str) -> list[str]:
    """Return the clusters of `run`, which are never split: each a character with its marks and stacked consonants."""
    return _cluster().findall(run)


class Segmenter(Protocol):
    """Splits a run into words."""

    def split(self, run: str) -> list[str]:
        """Return the words of `run`, one of `runs`, in order; joined they are the run, and none is empty."""
        ...


@dataclass(frozen=True, slots=True)
class IcuSegmenter:
    """Splits by the dictionaries of ICU, in which Chinese and Japanese share one; Hangul is not split.

    `language` is an ISO code. Raises MissingExtra without the package `icu4py`.
    """

    language: str

    def __post_init__(self) -> None:
        _word_breaker()

    def split(self, run: str) -> list[str]:
        """See `Segmenter.split`."""
        words = _ends(_word_breaker()(run, self.language))
        return _between(run, sorted(words.intersection(_ends(clusters(run)))))


class VocabularySegmenter:
    """Splits into the words of a vocabulary whose costs have the smallest sum.

    `words`, such as the words of an embedding, are ordered by frequency, most frequent first. Words that are no run are
    skipped, and all after the first 500,000. By Zipf's law the probability of the word of rank r among n is
    1 / (r ln n); its cost is the negative logarithm. A cluster that is no word has the cost of a word of rank n + 1 and
    stays alone: with vectors of another language a sentence would otherwise be one word.
    """

    def __init__(self, words: Iterable[str]) -> None:
        kept = dict.fromkeys(islice(filter(_is_word, words), _MOST))
        scale = math.log(len(kept) + 2)  # of the words and the unknown one; ln 1 would be 0
        self._costs = {word: math.log(rank * scale) for rank, word in enumerate(kept, 1)}
        self._unknown = math.log((len(kept) + 1) * scale)
        self._prefixes = {word[:end] for word in kept for end in range(1, len(word))}

    def split(self, run: str) -> list[str]:
        """See `Segmenter.split`."""
        ends = [0, *accumulate(map(len, clusters(run)))]
        least, starts = [0.0] + [math.inf] * (len(ends) - 1), [0] * len(ends)
        for i, start in enumerate(ends[:-1]):
            unknown = self._unknown  # for the first cluster; a longer part must be a word
            for j in range(i + 1, len(ends)):
                part = run[start : ends[j]]
                total = least[i] + self._costs.get(part, unknown)
                if total < least[j]:
                    least[j], starts[j] = total, i
                if part not in self._prefixes:
                    break
                unknown = math.inf
        path, i = list[int](), len(ends) - 1
        while i:
            path.append(ends[i])
            i = starts[i]
        return _between(run, path[::-1])


def _is_word(word: str) -> bool:
    """Return whether a word is a run that is no sentence."""
    return not word.isascii() and len(word) <= _LONGEST and runs().fullmatch(word) is not None


def vocabulary_of(words: Iterable[str], language: str, fewest: int = FEWEST_WORDS) -> str | None:
    """Return the first 20,000 of the `words` that are runs, folded and joined by spaces; None if there are too few.

    `words`, such as the words of an embedding, are ordered by frequency. `language` is a code: a language without
    spaces keeps the words of its own script, another one the words of all such scripts.
    """
    own = re.compile(f"[{_SCRIPTS.get(language, _LETTERS)}]")
    folded = (fold(word, language) for word in words if not word.isascii())
    found = dict.fromkeys(islice((word for word in folded if own.match(word) and _is_word(word)), MOST_WORDS))
    return None if len(found) < fewest else " ".join(found)


def frequent_parts(texts: Iterable[str]) -> list[str]:
    """Return parts of the runs in `texts`, of up to four clusters, that occur often, most frequent first.

    They occur three times or more, in texts of 15,000 clusters and more once every 5,000 clusters, in long texts ten
    times or more. They are a vocabulary for texts without vectors and without ICU. All runs are held in memory: give a
    sample of the texts, such as half a million characters.
    """
    split = [clusters(run) for text in texts for run in runs().findall(text)]
    often = sum(map(len, split)) // _CLUSTERS_PER_TIME
    least = min(max(often, _LEAST_TIMES[0]), _LEAST_TIMES[-1])
    found: dict[str, int] = {}
    for size in range(1, _MOST_CLUSTERS + 1):
        counts = Counter(
            "".join(run[i : i + size])
            for run in split
            for i in range(len(run) - size + 1)
            if size == 1 or "".join(run[i : i + size - 1]) in found  # no part is more frequent than its beginning
        )
        found.update((part, times) for part, times in counts.items() if times >= least)
    return sorted(found, key=lambda part: (-found[part], part))


AUTO, ICU, VOCABULARY, CHARACTERS, WHOLE = "auto", "icu", "vocabulary", "characters", "none"
CHOICES = AUTO, ICU, VOCABULARY, CHARACTERS, WHOLE
"""Ways to split runs: by ICU, by a vocabulary, each cluster alone, not at all; "auto" is one of them for a language."""


def segmentation_of(choice: object, *, spaces: bool, given: bool = False) -> str:
    """Return a way to split runs; for "auto" the best one that is installed, none for a language with `spaces`.

    With "auto", a vocabulary that is `given` is used. Raises OptionError for another choice.
    """
    if not isinstance(choice, str) or choice not in CHOICES:
        raise OptionError(f"the segmentation is one of {', '.join(CHOICES)}, not {repr(choice)[:60]}")
    if choice != AUTO:
        return choice
    if given:
        return VOCABULARY
    return WHOLE if spaces else ICU if find_spec("icu4py") else VOCABULARY


@lru_cache(maxsize=8)  # 20,000 words take 10 MB
def segmenter_of(segmentation: str, language: str, vocabulary: str = "") -> Segmenter:
    """Return the segmenter of a way to split runs that is not `WHOLE`; raises MissingExtra without ICU.

    `vocabulary`: words separated by spaces, most frequent first; without any, each cluster is alone.
    """
    return IcuSegmenter(language) if segmentation == ICU else VocabularySegmenter(vocabulary.split())


def parts_of(word: str, segmenter: Segmenter) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and text of the parts of a folded `word`: the parts of its runs, and the words between."""
    last = 0
    for run in runs().finditer(word):
        yield from _words_between(word, last, run.start())
        start = run.start()
        for part in segmenter.split(run[0]):
            visible = part.rstrip(_JOINERS)
            if visible:
                yield start, start + len(visible), visible
            start += len(part)
        last = run.end()
    yield from _words_between(word, last, len(word))


def _words_between(word: str, first: int, last: int) -> Iterator[tuple[int, int, str]]:
    for found in word_pattern().finditer(word, first, last):
        visible = ended(found[0])
        yield found.start(), found.start() + len(visible), visible


def _ends(parts: Iterable[str]) -> set[int]:
    return set(accumulate(map(len, parts)))


def _between(run: str, ends: list[int]) -> list[str]:
    """Return the parts of `run` that end at `ends`, which increase up to its length."""
    return [run[start:end] for start, end in pairwise([0, *ends])]


@cache
def _word_breaker() -> "type[WordBreaker]":
    try:
        from icu4py.breakers import WordBreaker  # on first use: an extra, 6 MB
    except ImportError as error:
        raise MissingExtra(
            "words of ICU need a package that is not installed: python -m pip install 'moverank[languages]'"
        ) from error
    return WordBreaker
