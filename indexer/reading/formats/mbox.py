"""Splitting an mbox into messages."""

import re
from collections.abc import Iterator

from moverank.indexer.reading import streams
from moverank.indexer.reading.records import BadRecord
from moverank.indexer.reading.streams import Stream

_HEADER = re.compile(rb">?From |[!-9;-~]+:")
_ESCAPED = re.compile(rb">+From ")


class _MessageBuffer:
    """The lines of one message, dropped once they exceed the limit; `line` is the first one's number, or 0."""

    def __init__(self, line: int) -> None:
        self.line = line
        self._lines: list[bytes] = []
        self._size = 0

    def add(self, line: bytes | None) -> None:
        self._size += streams.LIMIT + 1 if line is None else len(line)
        if line is None or self._size > streams.LIMIT:
            self._lines.clear()
        elif line.startswith(b">") and _ESCAPED.match(line):
            self._lines.append(line[1:])
        else:
            self._lines.append(line)

    def message(self) -> bytes | BadRecord:
        if self._size > streams.LIMIT:
            return BadRecord(f"the message is longer than {streams.LIMIT:,} bytes: split it")
        return b"".join(self._lines)


def split_mbox(stream: Stream) -> Iterator[tuple[int, bytes | BadRecord]]:
    """Yield the messages without their "From " lines, each with the number of its first line.

    A message starts at a line that begins with "From ", follows a blank line and precedes a header: a sentence that
    begins with this word does not split a message, even if it is not escaped.
    """
    buffer = _MessageBuffer(0)
    separator: bytes | None = None
    blank = True
    for line in stream.lines():
        if separator is not None:
            if line is not None and _HEADER.match(line):
                yield from _finished(buffer)
                buffer = _MessageBuffer(stream.line - 1)
            else:
                buffer.add(separator)
        separator = line if blank and line is not None and line.startswith(b"From ") else None
        if separator is None:
            buffer.add(line)
        blank = line is not None and not line.strip()
    if separator is not None:
        buffer.add(separator)
    yield from _finished(buffer)


def _finished(buffer: _MessageBuffer) -> Iterator[tuple[int, bytes | BadRecord]]:
    message = buffer.message()
    if buffer.line:
        yield buffer.line, message
    elif isinstance(message, BadRecord) or message.strip():
        yield 1, BadRecord('there is text before the first message: an mbox starts with a line "From ..."')
