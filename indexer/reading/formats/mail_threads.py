"""Newsgroup and mailing list threads: the messages of an mbox or a Maildir, grouped by their references."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import PurePath

from moverank.indexer.files.gzip_limit import DAMAGED
from moverank.indexer.reading.finding.files import Source
from moverank.indexer.reading.formats.mail import Mail, mail_metadata, mails, noted_damage, one_message
from moverank.indexer.reading.formats.quotations import own_text
from moverank.indexer.reading.formats.threads import Comment, thread_parts
from moverank.indexer.reading.records import BadRecord, ReadResult
from moverank.indexer.reading.source_faults import ended_by, results_of
from moverank.indexer.reading.spill import Spill
from moverank.indexer.reading.streams import Meter, Stream
from moverank.indexer.values.documents import Document


class _UnionFind:
    """Disjoint sets of message ids, one for each thread."""

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def union(self, first: str, second: str) -> None:
        self._parents[self.find(second)] = self.find(first)

    def find(self, id_: str) -> str:
        parents = self._parents
        while (parent := parents.setdefault(id_, id_)) != id_:
            # Path halving.
            parents[id_] = parents[parent]
            id_ = parents[id_]
        return id_


def read_mail_threads(stream: Stream) -> Iterator[ReadResult]:
    """Read every thread of an mbox: messages connected by References or In-Reply-To.

    The opening post is the earliest message without references, else the earliest; the others follow by date (in file
    order if any message has no date). The key is the id of the opening post; if the start of the thread is not in the
    file, the oldest id that the opening post refers to. The ids are held in memory, the texts in temporary files; the
    order of the threads is unspecified.
    """
    return _threads(
        noted_damage(stream.source.name, mails(stream)), "line {}".format, lambda line: f"{stream.source.key}:{line}"
    )


def read_maildir_threads(source: Source, meter: Meter) -> Iterator[ReadResult]:
    """Read every thread of a Maildir and its folders; see `read_mail_threads`. `meter` counts the bytes."""
    files = ["", *(str(PurePath(message.name).relative_to(source.name)) for message in source.messages)]
    keys = ["", *(message.key for message in source.messages)]

    numbered = (
        (number, mail)
        for number, message in enumerate(source.messages, start=1)
        for _, mail in results_of(message, meter, partial(_noted, message.name))
    )
    for number, result in _threads(numbered, files.__getitem__, keys.__getitem__):
        if isinstance(result, BadRecord):
            result = BadRecord(f"{files[number]}: {result.reason}", result.key)
        yield 0, result


def _noted(name: str, stream: Stream) -> Iterator[tuple[int, Mail | BadRecord]]:
    return noted_damage(name, one_message(stream))


def _threads(
    numbered: Iterable[tuple[int, Mail | BadRecord]], place: Callable[[int], str], default_key: Callable[[int], str]
) -> Iterator[ReadResult]:
    """Group messages by thread; `place` makes a name and `default_key` a key of a message's line or number."""
    with Spill(1) as messages, Spill() as threads:
        connected, lines, line = _UnionFind(), dict[str, int](), 0
        try:
            for line, mail in numbered:
                if isinstance(mail, BadRecord):
                    mail.part = True
                    yield line, mail
                    continue
                id_ = _id(line, mail)
                if id_ in lines:
                    yield line, BadRecord(f"its Message-ID is that of {place(lines[id_])} too", mail.id)
                    continue
                lines[id_] = line
                connected.find(id_)
                for reference in mail.references:
                    connected.union(reference, id_)
                messages.add("", (line, *mail))
        except (BadRecord, *DAMAGED) as error:
            yield line, ended_by(error)
        messages.regroup(threads, lambda record: connected.find(_id(record[0], Mail(*record[1:]))))
        for records in threads.groups():
            yield _thread([(line, Mail(*fields)) for line, *fields in records], default_key)


def _id(line: int, mail: Mail) -> str:
    # A unique id for a message without one: no Message-ID starts with a space.
    return mail.id or f" {line}"


def _thread(numbered: list[tuple[int, Mail]], default_key: Callable[[int], str]) -> ReadResult:
    if all(mail.date is not None for _, mail in numbered):
        numbered.sort(key=lambda item: item[1].date or 0.0)
    line, opening = next((item for item in numbered if not item[1].references), numbered[0])
    replies = [Comment(own_text(mail.body, is_reply=True)) for _, mail in numbered if mail is not opening]
    parts = thread_parts(opening.subject, own_text(opening.body, is_reply=False), replies)
    key = next(iter(opening.references), opening.id) or default_key(line)
    return line, Document(key, opening.subject, parts, opening.group, mail_metadata(opening))
