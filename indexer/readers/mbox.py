"""Where the messages of an mbox begin and end."""

import re
from collections.abc import Iterator

from moverank.indexer.readers import streams
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.streams import Stream

_HEADER = re.compile(rb">?From |[!-9;-~]+:")
_ESCAPED = re.compile(rb">+From ")


class _Gathered:
    """The lines of one message, as long as they are not too many."""

    def __init__(self, line: int) -> None:
        self.line = line
        self._lines: list[bytes] = []
        self._size = 0

    def add(self, line: bytes | None) -> None:
        self._size += streams.LIMIT + 1 if line is None else len(line)
        if line is None or self._size > streams.LIMIT:
            self._lines.clear()
        else:
            self._lines.append(line[1:] if _ESCAPED.match(line) else line)

    def message(self) -> bytes | BadRecord:
        if self._size > streams.LIMIT:
            return BadRecord(f"the message is longer than {streams.LIMIT:,} bytes: split it")
        return b"".join(self._lines)


def split_mbox(stream: Stream) -> Iterator[tuple[int, bytes | BadRecord]]:
    """Take message after message, each with the line that it starts at, its "From " line left out.

    A message starts at a line with "From " that follows a blank line and precedes a header: a sentence that starts
    with this word does not split a message, even where the archive has not escaped it.
    """
    gathered = _Gathered(0)
    separator: bytes | None = None
    blank = True
    for line in stream.lines():
        if separator is not None:
            if line is not None and _HEADER.match(line):
                yield from _finished(gathered)
                gathered = _Gathered(stream.line - 1)
            else:
                gathered.add(separator)
        separator = line if blank and line is not None and line.startswith(b"From ") else None
        if separator is None:
            gathered.add(line)
        blank = line is not None and not line.strip()
    if separator is not None:
        gathered.add(separator)
    yield from _finished(gathered)


def _finished(gathered: _Gathered) -> Iterator[tuple[int, bytes | BadRecord]]:
    message = gathered.message()
    if gathered.line:
        yield gathered.line, message
    elif isinstance(message, BadRecord) or message.strip():
        yield 1, BadRecord('there is text before the first message: an mbox starts with a line "From ..."')
