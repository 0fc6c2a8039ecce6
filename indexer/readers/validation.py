"""The last check of a document, whatever format it came in."""

from collections.abc import Iterator
from hashlib import blake2b

from moverank.indexer.documents import Document, Rejection
from moverank.indexer.readers.bad_record import BadRecord

MOST_PARTS = 100_000
"""No thread that people wrote has so many posts."""


class Validation:
    """Lets documents pass that have a key of their own, some text, and nothing that is no Unicode text.

    Of every key it remembers 16 bytes and the place: about 150 bytes of memory a document. The first document of a
    key passes, later ones are rejected.
    """

    def __init__(self) -> None:
        self._places: dict[bytes, int] = {}
        self._names: list[str] = []

    def enter(self, name: str) -> None:
        """Say the name of the source that the next documents come from."""
        self._names.append(name)

    def admit(self, line: int, found: Document | BadRecord) -> Document | Rejection:
        """Hand back the document, or why it cannot be one."""
        name = self._names[-1]
        if isinstance(found, BadRecord):
            return Rejection(name, line, found.reason, found.key)
        reason = _fault(found) or self._duplicate(line, found.key)
        return Rejection(name, line, reason, found.key) if reason else found

    def _duplicate(self, line: int, key: str) -> str | None:
        digest = blake2b(key.encode(), digest_size=16).digest()
        # One int, not a pair: it has half the size.
        here = line << 32 | len(self._names) - 1
        first = self._places.get(digest)
        if first is None:
            self._places[digest] = here
            return None
        return f"the key {key!r} is already taken by {self._place(first)}: keys must be unique"

    def _place(self, place: int) -> str:
        line, name = place >> 32, self._names[place & 0xFFFFFFFF]
        return f"{name}:{line}" if line else name


def _fault(document: Document) -> str | None:
    if not document.key.strip():
        return "the key is empty: give every record a key, or none"
    if not any(part.text.strip() for part in document.parts):
        return "there is no text: give it some, or leave the record out"
    if len(document.parts) > MOST_PARTS:
        return f"it has {len(document.parts):,} posts, and may have {MOST_PARTS:,}: split it"
    for text in _texts(document):
        if "\0" in text:
            return "it holds a NUL character: take it out"
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError as error:
                return f"it holds \\u{ord(text[error.start]):04x}, half of a surrogate pair: take it out"
    return None


def _texts(document: Document) -> Iterator[str]:
    yield from (document.key, document.title, document.label or "")
    for part in document.parts:
        yield part.text
    for name, value in document.metadata.items():
        yield name
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str):
                yield item
