"""The `Posts.xml` of a Stack Exchange data dump: questions, and their answers ordered by votes.

Its rows (`<posts><row .../>...</posts>`) are read one at a time.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from moverank.indexer.documents import Document, Value
from moverank.indexer.files.gzip_limit import DAMAGED
from moverank.indexer.reading import streams
from moverank.indexer.reading.formats.dates import date_of_text
from moverank.indexer.reading.formats.html import text_of_html
from moverank.indexer.reading.formats.threads import Comment, thread_parts
from moverank.indexer.reading.records import BadRecord, ReadResult, one_line
from moverank.indexer.reading.spill import Spill
from moverank.indexer.reading.streams import Stream

XmlRow = dict[str, str]


class _Handlers:
    """Callbacks of the parser: they collect rows, and reject another root element and a DTD."""

    def __init__(self, root: str, encoding: str | None) -> None:
        self.rows: list[tuple[int, XmlRow]] = []
        self._root = root
        self._inside = False
        self.parser = expat.ParserCreate(encoding)
        self.parser.StartElementHandler = self._start
        self.parser.StartDoctypeDeclHandler = self._refuse_dtd

    def _start(self, name: str, attributes: XmlRow) -> None:
        if not self._inside and name != self._root:
            hint = "only Posts.xml has threads" if self._root == "posts" else "give the PostLinks.xml of a data dump"
            raise BadRecord(f"the file holds <{name}>, not <{self._root}>: {hint}")
        self._inside = True
        if name == "row":
            self.rows.append((self.parser.CurrentLineNumber, attributes))

    def _refuse_dtd(self, *_: object) -> NoReturn:
        raise BadRecord("the file has a DTD, which is not safe to read: take the line <!DOCTYPE ...> out")


def read_rows(stream: Stream, root: str) -> Iterator[tuple[int, XmlRow | BadRecord]]:
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
    damage: Exception | None = None
    with Spill() as spill:
        try:
            for line, row in read_rows(stream, "posts"):
                try:
                    post = row if isinstance(row, BadRecord) else _post(line, row)
                except BadRecord as bad:
                    post = bad
                if isinstance(post, BadRecord):
                    yield line, post
                elif post is not None:
                    spill.add(post.question, post)
        except DAMAGED as error:
            damage = error
        for posts in spill.groups():
            yield from _thread([_Post(*post) for post in posts])
    if damage is not None:
        raise damage


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
