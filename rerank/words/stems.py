"""Stems of words by Snowball's algorithms (Porter 2001), so that a scorer counts `connect` and `connected` alike."""

from collections.abc import Sequence

LANGUAGES = (
    *("arabic", "armenian", "basque", "catalan", "danish", "dutch", "english", "finnish", "french", "german", "greek"),
    *("hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian", "nepali", "norwegian", "porter"),
    *("portuguese", "romanian", "russian", "serbian", "spanish", "swedish", "tamil", "turkish", "yiddish"),
)
"""The languages; "porter" is the original English algorithm (Porter 1980)."""


def stem_words(words: Sequence[str], language: str) -> list[str]:
    """Return the stem of each word; `language` is one of `LANGUAGES`."""
    import Stemmer  # on first use: most rankings need no stems

    # Without its cache of words it is six times as fast.
    stems: list[str] = Stemmer.Stemmer(language, 0).stemWords(list(words))
    return stems
