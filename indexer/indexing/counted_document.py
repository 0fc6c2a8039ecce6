"""Documents whose texts were digested and counted before they reach the writer: in the process that reads them."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.documents import Document


@dataclass(frozen=True, slots=True, eq=False)
class CountedTexts:
    """The word counts of n texts, stop words included.

    Text i has the distinct words `words[p]` for p in `numbers[starts[i]:starts[i + 1]]`, and their `counts`: `starts`
    (n + 1,) int64, `numbers` and `counts` (t,) int32. `words` grows: other texts have it in common.
    """

    words: list[str]
    starts: NDArray[np.int64]
    numbers: NDArray[np.int32]
    counts: NDArray[np.int32]

    def of(self, texts: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Return how many words (m,) each of the m `texts` has, and their numbers and counts (u,), text by text."""
        chosen = np.array(texts)
        first, end = self.starts[chosen], self.starts[chosen + 1]
        lengths = end - first
        if np.array_equal(first[1:], end[:-1]):  # they follow each other
            together = slice(first[0], end[-1])
            return lengths, self.numbers[together], self.counts[together]
        before = np.cumsum(lengths) - lengths
        entries = np.arange(lengths.sum()) + np.repeat(first - before, lengths)
        return lengths, self.numbers[entries], self.counts[entries]


class CountedText(NamedTuple):
    """A text of `among`, by its position."""

    among: CountedTexts
    position: int


class CountedForm(NamedTuple):
    """What the stored form of a document takes long to compute.

    `content`: see `stored_form.document_content`. `digests` are those of its stored parts, whose texts are those of
    `among` from position `first`.
    """

    content: bytes
    digests: tuple[bytes, ...]
    among: CountedTexts
    first: int


@dataclass(frozen=True, slots=True)
class CountedDocument(Document):
    """A document that was checked and counted."""

    form: CountedForm | None = field(default=None, compare=False, repr=False)
