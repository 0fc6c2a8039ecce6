"""Newsgroup and mailing list threads: the messages of an mbox, joined by whom they answer."""

from collections.abc import Iterator
from dataclasses import astuple

from moverank.indexer.documents import Document
from moverank.indexer.readers.bad_record import BadRecord, Found
from moverank.indexer.readers.messages import Mail, mails
from moverank.indexer.readers.records import with_title
from moverank.indexer.readers.spill import Spill
from moverank.indexer.readers.streams import DAMAGED, Stream
from moverank.indexer.readers.threads import Comment, thread_parts


class _Families:
    """Which messages belong together: sets of ids that can be joined (union-find)."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def join(self, first: str, second: str) -> None:
        self._parents[self.head(second)] = self.head(first)

    def head(self, name: str) -> str:
        parents = self._parents
        while (parent := parents.setdefault(name, name)) != name:
            # Half the way for those who come later.
            parents[name] = parents[parent]
            name = parents[name]
        return name


def read_mail_threads(stream: Stream) -> Iterator[Found]:
    """Read every thread of an mbox: messages that name each other in References or In-Reply-To.

    The opening post is the earliest message that answers none, the others follow by date (in the order of the file
    if one of them has no date). The key is the id of the opening post, or the oldest id that it refers to where
    the archive starts later. The ids stay in memory, the texts wait in temporary files; the threads come out in no
    particular order.
    """
    damage: Exception | None = None
    with Spill(1) as journal, Spill() as threads:
        families, lines = _Families(), dict[str, int]()
        try:
            for line, mail in mails(stream):
                if isinstance(mail, BadRecord):
                    yield line, mail
                    continue
                name = _name(line, mail)
                if name in lines:
                    yield line, BadRecord(f"its Message-ID is that of line {lines[name]} too", mail.id)
                    continue
                lines[name] = line
                families.head(name)
                for reference in mail.references:
                    families.join(reference, name)
                journal.add("", [line, *astuple(mail)])
        except DAMAGED as error:
            damage = error
        for line, *fields in journal.records():
            threads.add(families.head(_name(line, Mail(*fields))), [line, *fields])
        for records in threads.groups():
            yield _thread([(line, Mail(*fields)) for line, *fields in records], stream.source.key)
    if damage is not None:
        raise damage


def _name(line: int, mail: Mail) -> str:
    # No id starts with a space.
    return mail.id or f" {line}"


def _thread(numbered: list[tuple[int, Mail]], file: str) -> Found:
    if all(mail.date is not None for _, mail in numbered):
        numbered.sort(key=lambda item: item[1].date or 0.0)
    line, opening = next((item for item in numbered if not item[1].references), numbered[0])
    replies = [Comment(_said(mail.body, quotes=False)) for _, mail in numbered if mail is not opening]
    parts = thread_parts(with_title(opening.subject, _said(opening.body, quotes=True)), replies)
    key = next(iter(opening.references), opening.id) or f"{file}:{line}"
    return line, Document(key, opening.subject, parts, opening.group)


def _said(body: str, *, quotes: bool) -> str:
    """Leave the signature out, and without `quotes` the lines that repeat what others said."""
    lines: list[str] = []
    for line in body.splitlines():
        if line == "-- ":
            break
        if quotes or not line.startswith(">"):
            lines.append(line)
    return "\n".join(lines).strip()
