"""Titles at the beginning of texts."""

from collections.abc import Sequence

MAX_TITLE_WEIGHT = 100
"""The largest title weight: with a larger one the rest of a text would hardly count."""


TITLE_WEIGHT = 3
"""The default title weight: see the figures in the manual's page `ranking`."""


def begins_with_title(text: str, title: str) -> bool:
    """Return whether the text begins with the title, case ignored, followed by no further letter or digit."""
    return rest_after_title(text, title) is not None


def rest_after_title(text: str, title: str) -> str | None:
    """Return what follows the title at the beginning of the text; None if the text does not begin with the title.

    Case and the amount of white space do not matter.
    """
    words = title.split()
    if not words or text.lstrip()[:1].casefold()[:1] != words[0][0].casefold()[:1]:  # most texts: they are not split
        return None
    folded = " ".join(words)
    *first, rest = [*text.split(None, len(words)), ""][: len(words) + 1]
    start = " ".join(first)
    begins = start[: len(folded)].casefold() == folded.casefold() and not start[len(folded) : len(folded) + 1].isalnum()
    return f"{start[len(folded) :]} {rest}" if begins else None


def counted_texts(title: str, parts: Sequence[tuple[int, str]]) -> list[str]:
    """Return the texts of `parts` (rank, text) whose words are counted in addition to those of the title.

    If the first part has rank 0 and begins with the title, the title is cut off there: it must not count twice.
    """
    texts = [text for _, text in parts]
    rest = rest_after_title(texts[0], title) if title and parts and parts[0][0] == 0 else None
    return texts if rest is None else [rest, *texts[1:]]


def without_title(text: str, title: str) -> str:
    """Return the text without the title at its beginning, even if that is repeated."""
    while (rest := rest_after_title(text, title)) is not None:
        text = rest.strip()
    return text
