"""The final check of each document, common to all formats."""

from hashlib import blake2b

from moverank.indexer.documents import Document, Rejection
from moverank.indexer.metadata import key_fault, name_fault, text_fault, texts_of_document
from moverank.indexer.readers.bad_record import BadRecord

MAX_PARTS = 100_000
"""The maximum number of parts of a document, more than any real thread has."""

_SHORT = 32  # characters of keys that take about as much memory as a digest, and less time


class Validation:
    """Accepts documents with a unique key, some text, at most `MAX_PARTS` parts, and only valid characters except NUL.

    Keys and names of fields have a largest size: see `metadata`. The first document with a key is accepted, later ones
    are rejected. For each document its position and its key, of a
    long one a digest of 16 bytes, are stored: about 150 bytes of memory.
    """

    def __init__(self) -> None:
        self._positions: dict[str | bytes, int] = {}
        self._sources: list[str] = []

    def start_source(self, name: str) -> None:
        """Set the name of the source that the next records come from."""
        self._sources.append(name)

    def check(self, line: int, result: Document | BadRecord) -> Document | Rejection:
        """Return the document read at `line` of the current source, or the reason why it is rejected."""
        source = self._sources[-1]
        if isinstance(result, BadRecord):
            return Rejection(source, line, result.reason, result.key)
        reason = _fault(result) or self._duplicate(line, result.key)
        if reason:
            return Rejection(source, line, reason, result.key)
        object.__setattr__(result, "is_checked", True)  # as `reading` sets the origin
        return result

    def _duplicate(self, line: int, key: str) -> str | None:
        short = key if len(key) <= _SHORT else blake2b(key.encode(), digest_size=16).digest()
        # An int takes half the memory of a tuple.
        position = line << 32 | len(self._sources) - 1
        first = self._positions.get(short)
        if first is None:
            self._positions[short] = position
            return None
        remedy = "keys must be unique"
        if first & 0xFFFFFFFF != len(self._sources) - 1:
            remedy += ", so index each source by itself with a --prefix of its own"
        return f"the key {key!r} is already taken by {self._described(first)}: {remedy}"

    def _described(self, position: int) -> str:
        line, source = position >> 32, self._sources[position & 0xFFFFFFFF]
        return f"{source}:{line}" if line else source


def _fault(document: Document) -> str | None:
    if not document.key.strip():
        return "the key is empty: give every record a key, or none"
    if fault := key_fault(document.key):
        return fault
    if not _has_text(document):
        return "there is no text: give it some, or leave the record out"
    if len(document.parts) > MAX_PARTS:
        return f"it has {len(document.parts):,} posts, over the limit of {MAX_PARTS:,}: split it"
    fault = text_fault(texts_of_document(document), document.metadata) or name_fault(document.metadata)
    return fault and f"it {fault}"


def _has_text(document: Document) -> bool:
    for part in document.parts:
        if part.text and not part.text.isspace():  # stripping would copy a long text
            return True
    return document.title_counts and bool(document.title.strip())
