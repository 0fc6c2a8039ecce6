"""The languages of texts: which stop words each has, and which stems.

A language has its ISO 639-1 code as its name; `none` is a text of any language, without stop words and stems.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from moverank.rerank.errors import OptionError

DEFAULT, NO_LANGUAGE = "en", "none"

AUTO_LANGUAGE = "auto"
"""The language of a collection that has no text yet: its first texts determine it."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language: its `code`, and its `name` in English, which also names its stemmer if it has one (`stems`)."""

    code: str
    name: str
    stems: bool = True
    stop_words: bool = True
    """Whether there is a list of stop words, `stop_words/CODE.txt`."""
    spaces: bool = True
    """Whether there are spaces between words."""
    letters: int = 0
    """The length of the sequences of letters that the default ranking also counts, where they were measured to help."""
    marks: bool = False
    """Whether most words have marks on letters that many people leave out when they type."""

    @property
    def stemmer(self) -> str | None:
        """Return the name of Snowball's stemmer, one of `LANGUAGES` of the tokenizer, or None."""
        return self.name if self.stems else None


_ALL = {
    language.code: language
    for language in (
        Language(NO_LANGUAGE, NO_LANGUAGE, stems=False, stop_words=False),
        Language("ar", "arabic", letters=4),
        Language("az", "azerbaijani", stems=False),
        Language("ca", "catalan"),
        Language("da", "danish"),
        Language("de", "german", letters=4),
        Language("el", "greek", letters=4),
        Language("en", "english"),
        Language("es", "spanish", letters=4),
        Language("eu", "basque"),
        Language("fi", "finnish"),
        Language("fr", "french"),
        Language("ga", "irish"),
        Language("hi", "hindi", letters=4),
        Language("hu", "hungarian"),
        Language("hy", "armenian"),
        Language("id", "indonesian"),
        Language("it", "italian"),
        Language("ja", "japanese", stems=False, stop_words=False, spaces=False),
        Language("km", "khmer", stems=False, stop_words=False, spaces=False),
        Language("ko", "korean", stems=False, stop_words=False, letters=2),
        Language("lo", "lao", stems=False, stop_words=False, spaces=False),
        Language("lt", "lithuanian"),
        Language("my", "burmese", stems=False, stop_words=False, spaces=False),
        Language("ne", "nepali"),
        Language("nl", "dutch"),
        Language("no", "norwegian"),
        Language("pt", "portuguese"),
        Language("ro", "romanian", letters=4),
        Language("ru", "russian", letters=4),
        Language("sr", "serbian"),
        Language("sv", "swedish"),
        Language("ta", "tamil"),
        Language("th", "thai", stems=False, stop_words=False, spaces=False),
        Language("tr", "turkish", letters=4),
        Language("vi", "vietnamese", stems=False, stop_words=False, marks=True),
        Language("yi", "yiddish", stop_words=False),
        Language("zh", "chinese", stems=False, stop_words=False, spaces=False),
    )
}
CODES = tuple(_ALL)
"""The codes of all languages, `none` first."""


def language_of(code: object) -> Language:
    """Return the language with a code, or with an English name; OptionError, which lists the codes, for another."""
    if isinstance(code, str):  # comparing an array would raise an error
        for language in _ALL.values():
            if code in (language.code, language.name):
                return language
        if code == AUTO_LANGUAGE:
            raise OptionError(
                "the language is found, by 'auto', only where a collection is filled: elsewhere name it, such as "
                "'de', or find it by detect_language(texts)"
            )
    raise OptionError(f"a language is one of {', '.join(CODES)}, not {repr(code)[:60]}")


@cache
def listed_stop_words(code: str) -> tuple[str, ...]:
    """Return the words of the list of a language, none without a list.

    Each line of its file has one or more words.
    """
    if not language_of(code).stop_words:
        return ()
    return tuple(word for line in table_lines("stop_words", f"{code}.txt") for word in line.split())


@cache
def named_lines(*path: str) -> dict[str, list[str]]:
    """Return the words of a table whose lines are `name: word, word`, by the name of the line."""
    found: dict[str, list[str]] = {}
    for name, _, words in (line.partition(": ") for line in table_lines(*path)):
        found.setdefault(name, []).extend(words.split(", "))
    return found


def valued(words: Iterable[str]) -> dict[str, int]:
    """Return the value of each word of a line, as in `half=2`."""
    return {word: int(value) for word, _, value in (one.rpartition("=") for one in words)}


def table_lines(*path: str) -> list[str]:
    """Return the lines of a table beside this module; not the empty ones, and not comments, which begin with `# `.

    None for a table that there is not.
    """
    from importlib.resources import files  # 17 ms, for zipfile and tempfile

    table = files("moverank.rerank.words").joinpath(*path)
    lines = table.read_text("utf-8").splitlines() if table.is_file() else []
    return [line for line in lines if line and not line.startswith("# ")]


_FOLDED = str.maketrans({"\u017f": "s", "\u0130": "i", "\u0131": "i", "\u212a": "k"})


def lower(phrase: str) -> str:
    """Return a phrase in lower case, with the letters that a pattern takes for others in any case."""
    return phrase.translate(_FOLDED).lower()
