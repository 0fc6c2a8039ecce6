"""The `Posts.xml` of a Stack Exchange data dump: questions, and their answers ordered by votes.

Its rows (`<posts><row .../>...</posts>`) are read one at a time.
"""

import logging
import re
from collections.abc import Iterator
from html.entities import html5
from typing import NamedTuple, NoReturn
from xml.parsers import expat
from xml.parsers.expat import errors

from moverank.indexer.files.gzip_limit import DAMAGED
from moverank.indexer.reading import streams
from moverank.indexer.reading.formats.dates import date_of_text
from moverank.indexer.reading.formats.html import text_of_html
from moverank.indexer.reading.formats.threads import Comment, thread_parts
from moverank.indexer.reading.records import BadRecord, ReadResult, log_left_out, one_line
from moverank.indexer.reading.source_faults import ended_by
from moverank.indexer.reading.spill import Spill
from moverank.indexer.reading.streams import Stream
from moverank.indexer.values.documents import Document, Value

XmlRow = dict[str, str]

_log = logging.getLogger("moverank")


class _Rows:
    """Parses rows one by one, and goes on after one that is not XML; rejects another root element and a DTD."""

    def __init__(self, root: str, encoding: str | None) -> None:
        self._root, self._encoding = root, encoding
        self._row: XmlRow | None = None
        self._inside = False
        self._begin()

    def _begin(self) -> None:
        """Begin with a new parser, within the root element after a fault."""
        self._parser = expat.ParserCreate(self._encoding)
        self._parser.StartElementHandler = self._start
        self._parser.StartDoctypeDeclHandler = self._refuse_dtd
        self._parser.XmlDeclHandler = self._declared
        head = f"<{self._root}>".encode() if self._inside else b""
        self._parser.Parse(head, False)
        self._fed = len(head)

    def _declared(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self._encoding = self._encoding or encoding

    def _start(self, name: str, attributes: XmlRow) -> None:
        if not self._inside and name != self._root:
            hint = "only Posts.xml has threads" if self._root == "posts" else "give the PostLinks.xml of a data dump"
            raise BadRecord(f"the file holds <{name}>, not <{self._root}>: {hint}")
        self._inside = True
        if name == "row":
            self._row = attributes

    def _refuse_dtd(self, *_: object) -> NoReturn:
        raise BadRecord("the file has a DTD, which is not safe to read: take the line <!DOCTYPE ...> out")

    def parsed(self, data: bytes, *, last: bool) -> "_Parsed":
        """Parse the bytes from one `<row` to the next, or before the first."""
        self._row = None
        try:
            self._parser.Parse(data, last)
        except BadRecord as bad:
            bad.ends = True
            return _Parsed(None, bad, data.count(b"\n", 0, self._parser.CurrentByteIndex - self._fed))
        except expat.ExpatError as error:
            return self._broken(data, expat.ErrorString(error.code), last=last)
        self._fed += len(data)
        return _Parsed(self._row)

    def _broken(self, data: bytes, fault: str, *, last: bool) -> "_Parsed":
        """Return the result for bytes with a fault: the row, if replacing invalid characters makes them one."""
        row, place = self._row, self._parser.ErrorByteIndex - self._fed
        bad = BadRecord(f"broken XML at column {place - data.rfind(NEWLINE, 0, place)}: {fault}", part=True)
        bad.ends = not self._inside or (last and fault in _CUT)
        if not bad.ends:
            self._begin()
            bad.key = _thread_key(data)
            if row is None and self._encoding in (None, "utf-8", "UTF-8") and self._parses(_repaired(data), last=last):
                return _Parsed(self._row, repaired=True)
        return _Parsed(row, bad, data.count(NEWLINE, 0, place))

    def _parses(self, data: bytes, *, last: bool) -> bool:
        """Return whether bytes are a row."""
        try:
            self._parser.Parse(data, last)
        except (expat.ExpatError, BadRecord):
            self._begin()
            return False
        self._fed += len(data)
        return self._row is not None


class _Parsed(NamedTuple):
    """A row, and a fault with the number of line ends before it; `repaired`: characters of the row were replaced."""

    row: XmlRow | None
    fault: BadRecord | None = None
    lines: int = 0
    repaired: bool = False


NEWLINE = b"\n"
_REFERENCE = re.compile(r"&(?:#(?:x([0-9a-fA-F]{1,7})|(\d{1,7}));|([A-Za-z][A-Za-z0-9]{1,30});)?")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_XML_NAMES = frozenset({"amp", "apos", "gt", "lt", "quot"})


def _repaired(data: bytes) -> bytes:
    """Return a row in which bytes, characters and ampersands that XML does not allow are replaced."""
    text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", data.decode("utf-8", "replace"))
    return _REFERENCE.sub(_allowed, text).encode()


def _is_whole(row: XmlRow) -> bool:
    """Return whether no name of an attribute, and no number that joins posts, has a replaced character."""
    numbers = "".join(row.get(name, "") for name in ("Id", "PostTypeId", "ParentId"))
    return "\N{REPLACEMENT CHARACTER}" not in numbers + "".join(row)


def _allowed(reference: re.Match[str]) -> str:
    """Return a reference as XML allows it: one of HTML as its character."""
    hexadecimal, decimal, name = reference.groups()
    if name:
        known = name in _XML_NAMES or f"{name};" not in html5
        return (reference[0] if name in _XML_NAMES else f"&amp;{name};") if known else html5[f"{name};"]
    if not (hexadecimal or decimal):
        return "&amp;"
    code = int(hexadecimal, 16) if hexadecimal else int(decimal)
    allowed = code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0x10000 <= code < 0x110000
    return reference[0] if allowed else "\N{REPLACEMENT CHARACTER}"


_CUT = (errors.XML_ERROR_NO_ELEMENTS, errors.XML_ERROR_UNCLOSED_TOKEN, errors.XML_ERROR_PARTIAL_CHAR)
"""Errors at the end of a file that is cut off."""
_PARENT, _OWN = (
    re.compile(rb"\sParentId\s*=\s*[\"'](-?\d{1,18})[\"']"),
    re.compile(rb"\sId\s*=\s*[\"'](-?\d{1,18})[\"']"),
)


def _thread_key(data: bytes) -> str | None:
    """Return the key of the thread that a broken row belongs to, if its attributes name it."""
    found = _PARENT.search(data) or (_OWN.search(data) if b'PostTypeId="1"' in data else None)
    return found[1].decode() if found and data.startswith(_ROW) else None


def read_rows(stream: Stream, root: str) -> Iterator[tuple[int, XmlRow | BadRecord]]:
    """Yield the line and the attributes of each row of the table `root`.

    Characters that XML does not allow are replaced, and the log names the first row with some. A row that is not XML is
    a `BadRecord`, and reading goes on at the next `<row`. A DTD ends it: no data dump needs one, and its entities can
    exhaust memory.
    """
    rows, line, repaired = _Rows(root, "utf-8" if stream.recoded else None), 1, list[int]()
    for data, last in _pieces(stream):
        stream.line = line
        if len(data) > streams.LIMIT:
            yield line, BadRecord(f"the row is longer than {streams.LIMIT:,} bytes: split it", part=True)
        else:
            found = rows.parsed(data, last=last)
            if found.row is not None and not _is_whole(found.row):
                reason = "a number of this row, or a name, is damaged: Id, PostTypeId and ParentId join the posts"
                yield line, BadRecord(reason, _thread_key(data), part=True)
                found = found._replace(row=None, repaired=False)
            if found.repaired:
                repaired.append(line)
            if found.row is not None:
                yield line, found.row
            if found.fault is not None:
                yield line + found.lines, found.fault
                if found.fault.ends:
                    break
        line += data.count(NEWLINE)
    if repaired:
        more = f"of this row, and of {len(repaired) - 1:,} more," if len(repaired) > 1 else "of this row"
        place = f"{stream.source.name}:{repaired[0]}"
        _log.warning("%s: characters %s are not allowed in XML, and replaced", place, more)


_ROW = b"<row"


def _pieces(stream: Stream) -> Iterator[tuple[bytes, bool]]:
    """Yield the bytes before the first `<row`, then those from each to the next; the flag: they are the last ones.

    Of a piece over the limit, only the beginning is yielded.
    """
    held = b""
    for chunk in stream.chunks():
        start = max(0, len(held) - len(_ROW) + 1)
        held += chunk
        while (end := held.find(_ROW, max(1, start))) > 0:
            yield held[:end], False
            held, start = held[end:], 1
        if len(held) > 2 * streams.LIMIT:
            held = held[: streams.LIMIT + 1] + held[-len(_ROW) :]
    yield held, True


_QUESTION, _ANSWER = "1", "2"
_TAG = re.compile(r"[^<>|]+")


class _Post(NamedTuple):
    """A row of the file: a question, whose `question` is its own id, or an answer to `question`."""

    line: int
    id: str
    question: str
    title: str
    text: str
    tags: str
    score: int
    accepted: str
    date: str
    author: str


def read_stackexchange(stream: Stream) -> Iterator[ReadResult]:
    """Read every question with its answers: the accepted one first, the others by votes, ties in file order.

    Answers may be anywhere in the file, so all posts are written to temporary files as large as their texts; the order
    of the threads is unspecified.
    """
    deleted = 0
    with Spill() as spill:
        try:
            for line, row in read_rows(stream, "posts"):
                if isinstance(row, dict) and row.get("DeletionDate"):
                    deleted += 1
                    continue
                try:
                    post = row if isinstance(row, BadRecord) else _post(line, row)
                except BadRecord as bad:
                    bad.part, post = True, bad
                if isinstance(post, BadRecord):
                    yield line, post
                elif post is not None:
                    spill.add(post.question, post)
        except (BadRecord, *DAMAGED) as error:
            yield stream.line, ended_by(error)
        log_left_out(stream.source.name, deleted)
        for posts in spill.groups():
            yield from _thread([_Post(*post) for post in posts])


def _thread(posts: list[_Post]) -> Iterator[ReadResult]:
    questions = [post for post in posts if post.id == post.question]
    answers = [post for post in posts if post.id != post.question]
    if not questions:
        for post in answers:
            yield (
                post.line,
                BadRecord(f"it answers the question {post.question}, which is not in the file", post.question),
            )
    for post in questions:
        comments = [Comment(answer.text, None, answer.score, answer.id == post.accepted) for answer in answers]
        title = one_line(post.title)
        metadata: dict[str, Value | list[Value]] = {"tags": _TAG.findall(post.tags), "score": post.score}
        metadata |= {name: value for name, value in (("date", post.date), ("author", post.author)) if value}
        yield post.line, Document(post.id, title, thread_parts(title, post.text, comments), None, metadata)
        answers = []  # a second question with the same id is a duplicate, and gets no answers


def _post(line: int, row: XmlRow) -> _Post | None:
    """Parse a row; None for a post that is neither question nor answer (such as a tag wiki)."""
    kind = row.get("PostTypeId")
    if kind is not None and kind not in {_QUESTION, _ANSWER}:
        return None
    id_ = _number(row, "Id")
    if kind is None:
        raise BadRecord("the row has no PostTypeId: 1 is a question, 2 an answer", id_)
    return _Post(
        line,
        id_,
        id_ if kind == _QUESTION else _number(row, "ParentId"),
        row.get("Title", ""),
        text_of_html(row.get("Body", "")),
        row.get("Tags", ""),
        int(_number(row, "Score", "0")),
        row.get("AcceptedAnswerId", ""),
        date_of_text(row.get("CreationDate", "")) or "",
        one_line(row.get("OwnerDisplayName", "")) or row.get("OwnerUserId", ""),
    )


def _number(row: XmlRow, name: str, default: str | None = None) -> str:
    value = row.get(name, default)
    if value is None or not re.fullmatch(r"-?[0-9]{1,18}", value):
        raise BadRecord(f"the row needs a whole number as its {name}, not {value!r}")
    return value
