"""One stored document, and what of it searches cannot see: the words without a vector."""

from dataclasses import dataclass

import numpy as np

from moverank.indexer.documents import Document, Origin
from moverank.indexer.indexing.stored_form import restored
from moverank.indexer.store import Reader, StoredDocument


@dataclass(frozen=True, slots=True)
class Description:
    """A document, the revision that last changed it, the number of its different words, and those without a vector.

    Stop words are not counted. A document all of whose words are unknown is never compared by a distance. `origin` is
    where it was read last, None if that is unknown.
    """

    document: Document
    revision: int
    words: int
    unknown_words: tuple[str, ...]
    origin: Origin | None


def describe(reader: Reader, found: StoredDocument) -> Description:
    """Return the description of a stored document; unknown words are in alphabetical order."""
    packed = b"".join(part.words for part in found.parts)
    ids = np.unique(np.frombuffer(packed, "<i4"))
    words, origin = reader.unknown_words([found.id])[found.id], reader.origins([found.id]).get(found.id)
    return Description(restored(found), found.revision, len(ids), words, origin)
