"""Read queries to the database."""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import false, func, select

from moverank.indexer.documents import NamedSource
from moverank.indexer.metadata import text_fault
from moverank.indexer.store.document_reader import CountedPart, DocumentReader
from moverank.indexer.store.field_reader import FieldReader
from moverank.indexer.store.schema import DOCUMENTS, FILES, PARTS, SOURCES, WORDS
from moverank.indexer.store.stage_reader import StageReader
from moverank.indexer.titles import counted_texts
from moverank.rerank.bags.title_rank import TITLE
from moverank.rerank.words.unknown import UNKNOWN


class StoredState(NamedTuple):
    """The stored state of a document that a new version is compared with; `source` is an id, None if unknown."""

    id: int
    digest: bytes
    wordless: bool
    source: int | None
    file: str | None


class StoredSource(NamedTuple):
    """A source, its id (None: the documents whose source is unknown), and its number of documents."""

    id: int | None
    source: NamedSource | None
    documents: int


class StoredWord(NamedTuple):
    """A word, its id, and the row of its vector (negative: see `rerank.words.embedding`)."""

    word: str
    id: int
    row: int


class DisplayFields(NamedTuple):
    """The fields of a document that are displayed with a hit."""

    key: str
    title: str
    label: str | None


def _beginning(prefix: str) -> list[Any]:
    """Return the conditions on the key, by the index, that it begins with a prefix: keys are ordered by code points."""
    if text_fault([prefix], {}) is not None:
        return [false()]
    conditions: list[Any] = [DOCUMENTS.c.key >= prefix]
    kept = prefix.rstrip("\U0010ffff")
    if kept:
        following = ord(kept[-1]) + 1
        following = 0xE000 if following == 0xD800 else following  # halves of characters are between
        conditions.append(DOCUMENTS.c.key < kept[:-1] + chr(following))
    return conditions


class Reader(DocumentReader, FieldReader, StageReader):
    """Read queries to one consistent state of the database."""

    def known(self, keys: Sequence[str]) -> dict[str, StoredState]:
        """Return the stored documents among those with the given keys, by key."""
        columns = (DOCUMENTS.c[name] for name in ("key", *StoredState._fields))
        possible = keys if text_fault(keys, {}) is None else [key for key in keys if text_fault([key], {}) is None]
        rows = self._tuples_within(select(*columns), DOCUMENTS.c.key, possible)
        return {
            key: StoredState(id_, digest, bool(wordless), source, file)
            for key, id_, digest, wordless, source, file in rows
        }

    def sources(self) -> list[StoredSource]:
        """Return all sources, by place, and first the documents whose source is unknown if there are any."""
        counted = select(DOCUMENTS.c.source, func.count()).group_by(DOCUMENTS.c.source)
        counts = dict(map(tuple, self._connection.execute(counted)))
        columns = (SOURCES.c.id, SOURCES.c.place, SOURCES.c.name, SOURCES.c.prefix)
        rows = self._connection.execute(select(*columns).order_by(SOURCES.c.place))
        known = [StoredSource(id_, NamedSource(*rest), counts.get(id_, 0)) for id_, *rest in rows]
        return [StoredSource(None, None, counts[None]), *known] if None in counts else known

    def located(self, source: int | None) -> Iterator[tuple[int, str]]:
        """Iterate over (document id, file) of the documents of a source; None: of those whose source is unknown."""
        rows = self._stream(
            select(DOCUMENTS.c.id, DOCUMENTS.c.file).where(DOCUMENTS.c.source.is_not_distinct_from(source))
        )
        return ((id_, file or "") for id_, file in rows)

    def shown(self, ids: Sequence[int]) -> dict[int, DisplayFields]:
        """Return keys, titles and labels of documents, by id."""
        columns = (DOCUMENTS.c.id, DOCUMENTS.c.key, DOCUMENTS.c.title, DOCUMENTS.c.label)
        return {id_: DisplayFields(*rest) for id_, *rest in self._within(select(*columns), DOCUMENTS.c.id, ids)}

    def texts(self, ids: Sequence[int]) -> dict[int, list[str]]:
        """Return the texts of documents' parts, in the order of the parts, without titles."""
        statement = select(PARTS.c.document_id, PARTS.c.text).where(PARTS.c.rank != TITLE)
        statement = statement.order_by(PARTS.c.document_id, PARTS.c.position)
        found: dict[int, list[str]] = {}
        for id_, text in self._within(statement, PARTS.c.document_id, ids):
            found.setdefault(id_, []).append(text)
        return found

    def all_texts(self) -> Iterator[list[str]]:
        """Iterate over the texts whose words count, by document: its title, if that counts, and its parts."""
        columns = (PARTS.c.document_id, PARTS.c.rank, PARTS.c.text)
        rows = self._stream(select(*columns).order_by(PARTS.c.document_id, PARTS.c.position))
        for _, group in groupby(rows, key=lambda row: row.document_id):
            own = list(group)
            title = own.pop(0).text if own[0].rank == TITLE else ""
            yield [*([title] if title else []), *counted_texts(title, [(row.rank, row.text) for row in own])]

    def parts(self, ids: Sequence[int]) -> dict[int, list[Any]]:
        """Return the rows (id, position, rank, digest, words, counts) of documents' titles and parts, in order."""
        columns = (PARTS.c[name] for name in ("document_id", "id", "position", "rank", "digest", "words", "counts"))
        statement = select(*columns).order_by(PARTS.c.document_id, PARTS.c.position)
        found: dict[int, list[Any]] = {}
        for row in self._within(statement, PARTS.c.document_id, ids):
            found.setdefault(row.document_id, []).append(row)
        return found

    def counted_parts(self, since: int = 0) -> Iterator[CountedPart]:
        """Iterate over the counts of all titles and parts of the documents changed after a revision, by document id."""
        statement = select(PARTS.c.document_id, PARTS.c.rank, PARTS.c.words, PARTS.c.counts)
        if since:  # a join would read all documents in the order of their ids, not the few by their revisions
            changed = select(DOCUMENTS.c.id).where(DOCUMENTS.c.revision > since)
            statement = statement.where(PARTS.c.document_id.in_(changed))
        return map(CountedPart._make, self._tuples(statement.order_by(PARTS.c.document_id, PARTS.c.position)))

    def least_digests(self, limit: int, since: int = 0) -> list[tuple[int, bytes]]:
        """Return (id, digest) of the documents changed after a revision that have a bag, of the smallest digests."""
        columns, wanted = (DOCUMENTS.c.id, DOCUMENTS.c.digest), ~DOCUMENTS.c.wordless
        if since:
            wanted &= DOCUMENTS.c.revision > since
        statement = select(*columns).where(wanted).order_by(DOCUMENTS.c.digest, DOCUMENTS.c.id).limit(limit)
        return [(id_, digest) for id_, digest in self._connection.execute(statement)]

    def keys_beginning(self, prefix: str, limit: int) -> list[str]:
        """Return the first keys of documents that begin with a prefix, in their order, at most `limit`."""
        statement = select(DOCUMENTS.c.key).where(*_beginning(prefix)).order_by(DOCUMENTS.c.key)
        return list(self._connection.scalars(statement.limit(limit)).all())

    def ids_beginning(self, prefix: str) -> list[int]:
        """Return the ids of the documents whose keys begin with a prefix."""
        return [id_ for (id_,) in self._tuples(select(DOCUMENTS.c.id).where(*_beginning(prefix)))]

    def all_keys(self) -> Iterator[tuple[int, str]]:
        """Iterate over (document id, key) of all documents."""
        return ((id_, key) for id_, key in self._tuples(select(DOCUMENTS.c.id, DOCUMENTS.c.key)))

    def rows(self, table: Any) -> Iterator[Any]:
        """Iterate over all rows of a table."""
        return self._stream(select(table))

    @property
    def shared(self) -> bool:
        """Return whether machines share the database."""
        return self._connection.dialect.name != "sqlite"

    def file_names(self, folder: str) -> list[str]:
        """Return the names of the files of a folder, in order."""
        statement = select(FILES.c.name).where(FILES.c.folder == folder).distinct().order_by(FILES.c.name)
        return list(self._connection.scalars(statement).all())

    def file_blocks(self, folder: str, name: str) -> Iterator[bytes]:
        """Iterate over the blocks of a file."""
        own = (FILES.c.folder == folder, FILES.c.name == name)
        numbers = self._connection.scalars(select(FILES.c.number).where(*own).order_by(FILES.c.number)).all()
        for number in numbers:
            yield self._connection.scalars(select(FILES.c.content).where(*own, FILES.c.number == number)).one()

    def words(self, words: Sequence[str]) -> list[StoredWord]:
        """Return the stored ones of some words, with ids and vector rows."""
        statement = select(WORDS.c.word, WORDS.c.id, WORDS.c.row)
        return [StoredWord(*row) for row in self._within(statement, WORDS.c.word, words)]

    def occurring(self, words: Sequence[str]) -> list[str]:
        """Return those of some words that are in a document."""
        statement = select(WORDS.c.word).where(WORDS.c.frequency > 0)
        return [row.word for row in self._within(statement, WORDS.c.word, words)]

    def word_texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return words by id."""
        return dict(map(tuple, self._within(select(WORDS.c.id, WORDS.c.word), WORDS.c.id, ids)))

    def word_rows(self, ids: Sequence[int]) -> dict[int, int]:
        """Return the vector rows of words by id."""
        return dict(map(tuple, self._within(select(WORDS.c.id, WORDS.c.row), WORDS.c.id, ids)))

    def unknown_words(self, documents: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Return the words without a vector of some documents, by id, in alphabetical order."""
        packed = dict.fromkeys(documents, b"")
        statement = select(PARTS.c.document_id, PARTS.c.words)
        for id_, words in self._within(statement, PARTS.c.document_id, documents):
            packed[id_] += words
        ids = {id_: np.unique(np.frombuffer(words, "<i4")).tolist() for id_, words in packed.items()}
        rows = self.word_rows(sorted(set(chain.from_iterable(ids.values()))))
        texts = self.word_texts([word for word, row in rows.items() if row == UNKNOWN])
        return {id_: tuple(sorted(texts[word] for word in words if word in texts)) for id_, words in ids.items()}

    def vocabulary(self) -> list[StoredWord]:
        """Return every word with a vector, in the order of ids."""
        statement = select(WORDS.c.word, WORDS.c.id, WORDS.c.row).where(WORDS.c.row != UNKNOWN)
        return list(map(StoredWord._make, self._tuples(statement.order_by(WORDS.c.id))))

    def word_ids(self) -> list[int]:
        """Return the ids of all words, increasing."""
        first, last = self._scalar(select(func.min(WORDS.c.id))), self.last_word_id()
        if last - first + 1 == self.word_count(unused=True):  # counting takes a hundredth of the time of reading
            return list(range(first, last + 1))
        return [id_ for (id_,) in self._tuples(select(WORDS.c.id).order_by(WORDS.c.id))]

    def last_word_id(self) -> int:
        """Return the largest id of a word, 0 if there is none."""
        return self._scalar(select(func.max(WORDS.c.id)))

    def all_words(self) -> Iterator[StoredWord]:
        """Iterate over all words, in the order of their ids."""
        statement = select(WORDS.c.word, WORDS.c.id, WORDS.c.row).order_by(WORDS.c.id)
        return map(StoredWord._make, self._tuples(statement))

    def frequencies(self) -> list[tuple[int, int]]:
        """Return (id, number of documents) of every word with a vector, in the order of ids."""
        statement = select(WORDS.c.id, WORDS.c.frequency).where(WORDS.c.row != UNKNOWN).order_by(WORDS.c.id)
        return list(self._tuples(statement))
