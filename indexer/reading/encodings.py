"""Encodings of text other than UTF-8: named by the user, or by a byte order mark."""

import codecs
from collections.abc import Callable

from moverank.indexer.errors import UsageError
from moverank.indexer.reading.records import BadRecord

# UTF-32 first: its byte order mark begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def check_encoding(name: str | None) -> None:
    """Raise `UsageError` if there is no encoding of text with this name."""
    try:
        if name is not None:
            "".encode(name)
    except (LookupError, ValueError) as error:
        raise UsageError(f"there is no encoding {name!r}: name one such as latin-1, cp1252 or utf-16") from error


def marked_encoding(head: bytes) -> str | None:
    """Return UTF-16 or UTF-32 if the first bytes are its byte order mark."""
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)


class Recoded:
    """Converts the bytes that `read(n)` returns from `encoding` to UTF-8; `remedy` is for invalid bytes."""

    def __init__(self, read: Callable[[int], bytes], encoding: str, remedy: str) -> None:
        self._read = read
        self._encoding, self._remedy = encoding, remedy
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._rest = b""
        self._count = 0
        self._end: BadRecord | bool = False

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end; raises `BadRecord` for bytes that are invalid in the encoding."""
        while not self._rest and not self._end:
            self._decode(self._read(size))
        if not self._rest and isinstance(self._end, BadRecord):
            raise self._end
        result, self._rest = self._rest[:size], self._rest[size:]
        return result

    def _decode(self, data: bytes) -> None:
        """Decode the next bytes, up to the first invalid one; no bytes end the text."""
        state = self._decoder.getstate()
        self._end = not data
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeError as error:
            good = getattr(error, "start", 0) - len(state[0])
            self._decoder.setstate(state)
            text = self._decoder.decode(data[: max(0, good)])
            self._end = BadRecord(
                f"byte {self._count + good + 1} of the file is not {self._encoding}, and the rest is not read: "
                + self._remedy,
                part=True,
                ends=True,
            )
        self._count += len(data)
        # Half of a surrogate pair is rejected later, by name.
        self._rest = text.encode("utf-8", "surrogatepass")
