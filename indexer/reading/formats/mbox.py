"""Splitting an mbox into messages."""

import re
from collections.abc import Iterator

from moverank.indexer.reading import streams
from moverank.indexer.reading.records import BadRecord
from moverank.indexer.reading.streams import Stream

_HEADER = re.compile(rb">?From |[!-9;-~]+:")
_USUAL_HEADER = re.compile(
    rb">?From |(?:From|To|Cc|Bcc|Subject|Date|Sender|Reply-To|In-Reply-To|References|Message-ID|Newsgroups|Path|Xref"
    rb"|Lines|Organization|Approved|Received|Return-Path|Delivered-To|Envelope-To|Status|MIME-Version|Content-[A-Za-z-]+"
    rb"|List-[A-Za-z-]+|Mailing-List|Precedence|DKIM-[A-Za-z-]+|ARC-[A-Za-z-]+|Authentication-Results|User-Agent"
    rb"|NNTP-Posting-Host|X-[!-9;-~]+):",
    re.IGNORECASE,
)
_DATED = re.compile(rb"From .*\d:\d\d.*\b\d{4}\b|From -?\d+\s*\Z")
"""The line before a message, with its date, or the number of the archive of a newsgroup; a sentence has neither."""
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

    A line that begins with "From " starts a message if a header follows, and it has a date or follows a blank line: a
    usual header unless both are true. So a sentence that begins with this word does not split a message, even if it is
    not escaped, and messages without a blank line between them are not joined. A file that ends within a line may be
    cut: a `BadRecord` after the last message says so.
    """
    buffer = _MessageBuffer(0)
    separator: bytes | None = None
    certain = blank = ended = True
    for line in stream.lines():
        if separator is not None:
            if line is not None and (_HEADER if certain else _USUAL_HEADER).match(line):
                yield from _finished(buffer)
                buffer = _MessageBuffer(stream.line - 1)
            else:
                buffer.add(separator)
        separator = None
        if line is not None and line.startswith(b"From "):
            dated = _DATED.match(line) is not None
            separator, certain = (line if blank or dated else None), blank and dated
        if separator is None:
            buffer.add(line)
        blank, ended = line is not None and not line.strip(), line is None or line.endswith(b"\n")
    if separator is not None:
        buffer.add(separator)
    yield from _finished(buffer)
    if not ended:
        reason = "the file ends within a line, so posts may be missing: end it with a line break if it is whole"
        yield stream.line, BadRecord(reason, part=True)


def _finished(buffer: _MessageBuffer) -> Iterator[tuple[int, bytes | BadRecord]]:
    message = buffer.message()
    if buffer.line:
        yield buffer.line, message
    elif isinstance(message, BadRecord) or message.strip():
        yield 1, BadRecord('there is text before the first message: an mbox starts with a line "From ..."')
