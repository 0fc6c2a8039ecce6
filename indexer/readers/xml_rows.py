"""The rows of an XML table (`<posts><row .../>...</posts>`), one at a time."""

from collections.abc import Iterator
from itertools import chain
from typing import NoReturn
from xml.parsers import expat

from moverank.indexer.readers import streams
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.streams import Stream

Row = dict[str, str]


class _Handlers:
    """Callbacks of the parser: they collect rows, and reject another root element and a DTD."""

    def __init__(self, root: str, encoding: str | None) -> None:
        self.rows: list[tuple[int, Row]] = []
        self._root = root
        self._inside = False
        self.parser = expat.ParserCreate(encoding)
        self.parser.StartElementHandler = self._start
        self.parser.StartDoctypeDeclHandler = self._refuse_dtd

    def _start(self, name: str, attributes: Row) -> None:
        if not self._inside and name != self._root:
            hint = "only Posts.xml has threads" if self._root == "posts" else "give the PostLinks.xml of a data dump"
            raise BadRecord(f"the file holds <{name}>, not <{self._root}>: {hint}")
        self._inside = True
        if name == "row":
            self.rows.append((self.parser.CurrentLineNumber, attributes))

    def _refuse_dtd(self, *_: object) -> NoReturn:
        raise BadRecord("the file has a DTD, which is not safe to read: take the line <!DOCTYPE ...> out")


def read_rows(stream: Stream, root: str) -> Iterator[tuple[int, Row | BadRecord]]:
    """Yield the line and the attributes of each row of the table `root`.

    Broken XML ends the rows with a `BadRecord`, and so does a DTD: no data dump needs one, and its entities can exhaust
    memory.
    """
    handlers = _Handlers(root, "utf-8" if stream.recoded else None)
    parser, fed, bad = handlers.parser, 0, None
    for chunk in chain(stream.chunks(), [b""]):
        try:
            parser.Parse(chunk, not chunk)
        except BadRecord as error:
            bad = error
        except expat.ExpatError as error:
            bad = BadRecord(f"broken XML at column {error.offset + 1}: {expat.ErrorString(error.code)}")
        fed += len(chunk)
        if fed - parser.CurrentByteIndex > streams.LIMIT:
            bad = BadRecord(f"the row is longer than {streams.LIMIT:,} bytes: split it")
        yield from handlers.rows
        handlers.rows.clear()
        stream.line = parser.CurrentLineNumber
        if bad is not None:
            yield stream.line, bad
            return
