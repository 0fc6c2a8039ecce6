"""The statements that read a collection: its state and sizes, documents, sources, filter fields and words.

They need no SQLAlchemy: see `rows`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from operator import itemgetter
from struct import unpack
from typing import Any, ClassVar, NamedTuple

from moverank.indexer.errors import UnknownKey
from moverank.indexer.store.rows import DamagedDocument, Rows, Values
from moverank.indexer.values.arguments import LARGEST
from moverank.indexer.values.documents import Event, Located, NamedSource, Origin, Watch, counted_texts, text_fault

REMOVALS_FORGOTTEN = "removals_forgotten"
"""Name of the setting that stores the revision up to which removals are no longer recorded."""

EVENTS_FORGOTTEN = "events_forgotten"
"""Name of the setting that stores the number of the last event before events were deleted."""

UNKNOWN = -1
"""The row of a word without a vector, as in `rerank.words.vocabulary`, whose import takes longer than `info` does."""


@dataclass(frozen=True, slots=True)
class Entry(Located):
    """A document without its texts."""

    KEYS: ClassVar = ("key", "title", "label", "metadata", "parts", "wordless", "source", "file")

    key: str
    """The key."""
    title: str
    """The title, empty if there is none."""
    label: str | None
    """The label, None if there is none."""
    metadata: dict[str, Any]
    """The metadata by field."""
    parts: int
    """The number of parts."""
    wordless: bool
    """Whether it has no known word: it is never a hit."""
    origin: Origin | None = None
    """Where it was read; None if its source is unknown."""


class CountedPart(NamedTuple):
    """The counts of a part, or of a title (rank `TITLE`): `words` and `counts` are int32 arrays as bytes."""

    document_id: int
    rank: int
    words: bytes
    counts: bytes


class PartRow(NamedTuple):
    """A stored part, or a title (position -1), with its counts as in `CountedPart`."""

    document_id: int
    id: int
    position: int
    rank: int
    text: str
    digest: bytes
    words: bytes
    counts: bytes


class StoredDocument(NamedTuple):
    """A stored document; `parts` are in order, the title first; `vector` is bytes, None if no vector was given."""

    id: int
    key: str
    title: str
    label: str | None
    metadata: Any
    digest: bytes
    wordless: bool
    revision: int
    parts: Sequence[PartRow] = ()
    vector: bytes | None = None

    @classmethod
    def of(cls, row: Values) -> "StoredDocument":
        """Return the document of a row of `DOCUMENT_COLUMNS`, without its parts and vector."""
        id_, key, title, label, metadata, digest, wordless, revision = row
        return cls(id_, key, title, label, json_value(metadata), digest, bool(wordless), revision)


DOCUMENT_COLUMNS = "id, key, title, label, {json}, digest, wordless, revision"
"""Columns of `StoredDocument`; `{json}` stands for the metadata."""

PART_COLUMNS = ", ".join(PartRow._fields)

_WORDS = "SELECT id, word, frequency, words.row FROM words"


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
    """A word, its id, its number of documents, and the row of its vector (negative: see `rerank.words.embedding`)."""

    id: int
    word: str
    frequency: int
    row: int


class FieldTest(NamedTuple):
    """A condition: a document has one of the fields `names` with one of the `values` (None: any), or is one of `ids`.

    `ids` are documents with such a key or source. If `negated`, the document must meet neither.
    """

    names: tuple[str, ...]
    values: tuple[str, ...] | None = None
    negated: bool = False
    ids: tuple[int, ...] = ()


class DisplayFields(NamedTuple):
    """The fields of a document that are displayed with a hit."""

    key: str
    title: str
    label: str | None


def json_value(stored: object) -> Any:
    """Return the value of a JSON column."""
    return json.loads(stored) if isinstance(stored, str | bytes) else stored


def _metadata(value: object, key: str) -> dict[str, Any]:
    """Return the metadata of the document `key`; DamagedDocument if the metadata are no JSON object."""
    if not isinstance(value, dict):
        raise DamagedDocument(f"the document {key!r} has no metadata that can be read")
    return value


def _beginning(prefix: str) -> tuple[str, dict[str, str]]:
    """Return the SQL test that a key begins with a prefix; it uses the index, which is ordered by code points."""
    if text_fault([prefix], {}) is not None:
        return "1 = 0", {}
    kept = prefix.rstrip("\U0010ffff")
    if not kept:
        return "key >= :first", {"first": prefix}
    following = ord(kept[-1]) + 1
    following = 0xE000 if following == 0xD800 else following  # skip the surrogates
    return "key >= :first AND key < :last", {"first": prefix, "last": kept[:-1] + chr(following)}


class Reader:
    """Reads one consistent state of a collection, in the transaction of `rows`."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    @property
    def shared(self) -> bool:
        """Return whether machines share the database."""
        return self.rows.shared

    # The state, and sizes.

    def settings(self) -> dict[str, Any]:
        """Return every setting by name."""
        rows = self.rows.all(f"SELECT name, {self.rows.json('value')} FROM settings")
        return {name: json_value(value) for name, value in rows}

    def revision(self) -> int:
        """Return the number of the last change, 0 before the first."""
        return self.rows.number("SELECT max(number) FROM revisions")

    def token(self, revision: int) -> str | None:
        """Return the token that distinguishes a revision from the same number of another history; None if absent."""
        found = self.rows.column("SELECT token FROM revisions WHERE number = :number", number=int(revision))
        return found[0] if found else None

    def forgotten(self) -> int:
        """Return the revision up to which removals are no longer recorded."""
        return self._number_set(REMOVALS_FORGOTTEN)

    def _number_set(self, name: str) -> int:
        """Return a setting that is a number, 0 if it is absent."""
        return self.rows.number(f"SELECT {self.rows.json('value')} FROM settings WHERE name = :name", name=name)

    def changed_ids(self, since: int) -> list[int]:
        """Return the ids of documents changed after a revision, increasing."""
        # Sorted here: SQLite would read all documents in the order of their ids instead of the few by their revisions.
        return sorted(self.rows.column("SELECT id FROM documents WHERE revision > :since", since=int(since)))

    def removed_ids(self, since: int) -> list[int]:
        """Return the ids of documents removed after a revision."""
        return self.rows.column("SELECT document_id FROM removals WHERE revision > :since", since=int(since))

    def document_count(self) -> int:
        """Return the number of documents."""
        return self.rows.number("SELECT count(*) FROM documents")

    def wordless_count(self) -> int:
        """Return the number of documents without any known word."""
        return self.rows.number("SELECT count(*) FROM documents WHERE wordless")

    def part_count(self) -> int:
        """Return the number of parts of all documents, titles not counted."""
        return self.rows.number("SELECT count(*) FROM parts WHERE position >= 0")

    def word_count(self, *, known: bool = False, unused: bool = False) -> int:
        """Return the number of words. `known`: only words with a vector; `unused`: also words of no document."""
        tests = [*([] if unused else ["frequency > 0"]), *([f"words.row != {UNKNOWN}"] if known else [])]
        where = f" WHERE {' AND '.join(tests)}" if tests else ""  # SQLite counts all rows by whole pages
        return self.rows.number(f"SELECT count(*) FROM words{where}")

    def vector_count(self) -> int:
        """Return the number of documents with a vector."""
        return self.rows.number("SELECT count(*) FROM vectors")

    def vector_dim(self) -> int:
        """Return the number of dimensions of the vectors; 0 if no document has one."""
        return self.rows.number("SELECT length(vector) FROM vectors LIMIT 1") // 4

    def last_word_id(self) -> int:
        """Return the largest id of a word, 0 if there is none."""
        return self.rows.number("SELECT max(id) FROM words")

    def last_document_id(self) -> int:
        """Return the largest id of a document, 0 if there is none."""
        return self.rows.number("SELECT max(id) FROM documents")

    # Documents by id.

    def ids(self) -> Iterator[int]:
        """Iterate over all document ids, increasing."""
        return (id_ for (id_,) in self.rows.stream("SELECT id FROM documents ORDER BY id"))

    def documents(self, ids: Sequence[int]) -> list[StoredDocument]:
        """Return the documents with some ids, in the same order; an unknown id is omitted."""
        parts, vectors = self.parts(ids), self.vectors(ids)
        columns = DOCUMENT_COLUMNS.format(json=self.rows.json("metadata"))
        rows = self.rows.within(f"SELECT {columns} FROM documents WHERE id IN :values", ids)
        found = {row[0]: StoredDocument.of(row) for row in rows}
        for document in found.values():
            _metadata(document.metadata, document.key)
        complete = (found[id_] for id_ in ids if id_ in found)
        return [one._replace(parts=parts.get(one.id, []), vector=vectors.get(one.id)) for one in complete]

    def entries(self, ids: Sequence[int]) -> list[Entry]:
        """Return the documents with some ids, in the same order and without their texts."""
        counted = "SELECT document_id, count(*) FROM parts WHERE position >= 0 AND document_id IN :values "
        parts: dict[int, int] = dict(self.rows.within(f"{counted} GROUP BY document_id", ids))
        columns = f"id, key, title, label, {self.rows.json('metadata')}, wordless"
        rows = self.rows.within(f"SELECT {columns} FROM documents WHERE id IN :values", ids)
        found, origins = {id_: rest for id_, *rest in rows}, self.origins(ids)
        return [
            Entry(
                key,
                title,
                label,
                _metadata(json_value(metadata), key),
                parts.get(id_, 0),
                bool(wordless),
                origins.get(id_),
            )
            for id_, (key, title, label, metadata, wordless) in ((id_, found[id_]) for id_ in ids if id_ in found)
        ]

    def keys(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the keys of documents by id."""
        return dict(self.rows.within("SELECT id, key FROM documents WHERE id IN :values", ids))

    def shown(self, ids: Sequence[int]) -> dict[int, DisplayFields]:
        """Return keys, titles and labels of documents, by id."""
        rows = self.rows.within("SELECT id, key, title, label FROM documents WHERE id IN :values", ids)
        return {id_: DisplayFields(*rest) for id_, *rest in rows}

    def metadata(self, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Return the metadata of documents by id."""
        columns = f"id, key, {self.rows.json('metadata')}"
        rows = self.rows.within(f"SELECT {columns} FROM documents WHERE id IN :values", ids)
        return {id_: _metadata(json_value(stored), key) for id_, key, stored in rows}

    def origins(self, ids: Sequence[int]) -> dict[int, Origin]:
        """Return where documents were read last, by id; documents whose source is unknown are omitted."""
        found = self.rows.within(
            "SELECT d.id, d.file, s.place, s.name, s.prefix FROM documents d JOIN sources s ON s.id = d.source "
            "WHERE d.id IN :values",
            ids,
        )
        return {id_: Origin(NamedSource(*source), file or "") for id_, file, *source in found}

    def vectors(self, ids: Sequence[int]) -> dict[int, bytes]:
        """Return the given vectors of documents by id, float32 and little-endian; documents without one are omitted."""
        return dict(self.rows.within("SELECT document_id, vector FROM vectors WHERE document_id IN :values", ids))

    def parts(self, ids: Sequence[int], first: int | None = None) -> dict[int, list[PartRow]]:
        """Return documents' titles and parts, in order, by document id.

        `first`: only so many characters of each text.
        """
        columns = PART_COLUMNS if first is None else PART_COLUMNS.replace("text", "substr(text, 1, :first)")
        statement = f"SELECT {columns} FROM parts WHERE document_id IN :values ORDER BY document_id, position"
        found: dict[int, list[PartRow]] = {}
        for row in self.rows.within(statement, ids, **({} if first is None else {"first": first})):
            found.setdefault(row[0], []).append(PartRow._make(row))
        return found

    def texts(self, ids: Sequence[int], first: int | None = None) -> dict[int, list[str]]:
        """Return the texts of documents' parts, in the order of the parts, without titles.

        `first`: only so many characters of each part.
        """
        text = "text" if first is None else "substr(text, 1, :first)"
        own = "FROM parts WHERE position >= 0 AND document_id IN :values ORDER BY document_id, position"
        found: dict[int, list[str]] = {}
        limit = {} if first is None else {"first": first}
        for id_, part in self.rows.within(f"SELECT document_id, {text} {own}", ids, **limit):
            found.setdefault(id_, []).append(part)
        return found

    def text_length(self, ids: Sequence[int]) -> int:
        """Return the number of characters in the `texts` of documents."""
        statement = "SELECT length(text) FROM parts WHERE position >= 0 AND document_id IN :values"
        return sum(length for (length,) in self.rows.within(statement, ids))

    def counted_parts_of(self, ids: Sequence[int]) -> list[CountedPart]:
        """Return the counts of all titles and parts of documents with some ids, by document id."""
        columns = "SELECT document_id, rank, words, counts FROM parts"
        statement = f"{columns} WHERE document_id IN :values ORDER BY document_id, position"
        return list(map(CountedPart._make, self.rows.within(statement, sorted(ids))))

    # All documents.

    def all_texts(self) -> Iterator[list[str]]:
        """Iterate over the texts whose words count, by document: its title, if that counts, and its parts."""
        rows = self.rows.stream("SELECT document_id, position, rank, text FROM parts ORDER BY document_id, position")
        for _, group in groupby(rows, key=itemgetter(0)):
            own = [(position, rank, text) for _, position, rank, text in group]
            title = own.pop(0)[2] if own[0][0] < 0 else ""
            yield [*([title] if title else []), *counted_texts(title, [(rank, text) for _, rank, text in own])]

    def counted_parts(self, since: int = 0) -> Iterator[CountedPart]:
        """Iterate over the counts of all titles and parts of the documents changed after a revision, by document id."""
        # A join would read all documents in the order of their ids, not the few by their revisions.
        changed = " WHERE document_id IN (SELECT id FROM documents WHERE revision > :since)" if since else ""
        statement = f"SELECT document_id, rank, words, counts FROM parts{changed} ORDER BY document_id, position"
        return map(CountedPart._make, self.rows.stream(statement, **({"since": since} if since else {})))

    def least_digests(self, limit: int, since: int = 0) -> list[tuple[int, bytes]]:
        """Return (id, digest) of the documents with a bag changed after a revision that have the smallest digests."""
        # Without `since` no revision is tested: SQLite would use the index of revisions.
        where = "WHERE NOT wordless" + (" AND revision > :since" if since else "")
        statement = f"SELECT id, digest FROM documents {where} ORDER BY digest, id LIMIT :limit"
        own = {"since": since} if since else {}
        return [(id_, digest) for id_, digest in self.rows.all(statement, limit=limit, **own)]

    # Documents by key and source.

    def known(self, keys: Sequence[str]) -> dict[str, StoredState]:
        """Return the stored documents with the given keys, by key; other keys are left out."""
        possible = keys if text_fault(keys, {}) is None else [key for key in keys if text_fault([key], {}) is None]
        statement = "SELECT key, id, digest, wordless, source, file FROM documents WHERE key IN :values"
        return {
            key: StoredState(id_, digest, bool(wordless), source, file)
            for key, id_, digest, wordless, source, file in self.rows.within(statement, possible)
        }

    def unknown_key(self, key: str) -> UnknownKey:
        """Return the error for a key that no document has; it names keys that contain it."""
        near = [] if text_fault([key], {}) is not None else self._keys_with(key)
        hint = f": did you mean {' or '.join(map(repr, near))}?" if near else ""
        return UnknownKey(f"the collection has no document with the key {key!r}{hint}")

    def _keys_with(self, part: str) -> list[str]:
        escaped = re.sub(r"([%_!])", r"!\1", part)
        statement = "SELECT key FROM documents WHERE key LIKE :part ESCAPE '!' ORDER BY key LIMIT 3"
        return self.rows.column(statement, part=f"%{escaped}%")

    def keys_beginning(self, prefix: str, limit: int) -> list[str]:
        """Return the first keys of documents that begin with a prefix, in their order, at most `limit`."""
        test, own = _beginning(prefix)
        statement = f"SELECT key FROM documents WHERE {test} ORDER BY key LIMIT :limit"
        return self.rows.column(statement, limit=limit, **own)

    def ids_beginning(self, prefix: str) -> list[int]:
        """Return the ids of the documents whose keys begin with a prefix."""
        test, own = _beginning(prefix)
        return self.rows.column(f"SELECT id FROM documents WHERE {test}", **own)

    def all_keys(self) -> Iterator[tuple[int, str]]:
        """Iterate over (document id, key) of all documents."""
        return ((id_, key) for id_, key in self.rows.stream("SELECT id, key FROM documents"))

    def sources(self) -> list[StoredSource]:
        """Return all sources, by place, and first the documents whose source is unknown if there are any."""
        counts: dict[int | None, int] = dict(self.rows.all("SELECT source, count(*) FROM documents GROUP BY source"))
        known = [StoredSource(id_, source, counts.get(id_, 0)) for id_, source in self.named_sources().items()]
        return [StoredSource(None, None, counts[None]), *known] if None in counts else known

    def named_sources(self) -> dict[int, NamedSource]:
        """Return all sources by id, in the order of their places; nothing is counted."""
        rows = self.rows.all("SELECT id, place, name, prefix FROM sources ORDER BY place")
        return {id_: NamedSource(*rest) for id_, *rest in rows}

    def files_of_source(self, source: int | None) -> Iterator[tuple[int, str]]:
        """Iterate over (document id, file) of the documents of a source; None: of documents whose source is unknown."""
        own = {} if source is None else {"source": source}
        test = "IS NULL" if source is None else "= :source"
        rows = self.rows.stream(f"SELECT id, file FROM documents WHERE source {test}", **own)
        return ((id_, file or "") for id_, file in rows)

    # Filter fields.

    def field_names(self) -> list[str]:
        """Return the names of all fields that documents can be filtered by, in order.

        Each name is looked up in the index after the last: SQLite would read every row to find the distinct ones.
        """
        return self.rows.column(
            "WITH RECURSIVE names(name) AS (SELECT min(name) FROM fields UNION ALL "
            "SELECT (SELECT min(fields.name) FROM fields WHERE fields.name > names.name) FROM names "
            "WHERE names.name IS NOT NULL) SELECT name FROM names WHERE name IS NOT NULL"
        )

    def ids_with_field(self, name: str) -> list[int]:
        """Return the ids of documents that have a field, once for each of its values."""
        return self.rows.column("SELECT document_id FROM fields WHERE name = :name", name=name)

    def distinct_values(self, name: str) -> list[str]:
        """Return the different values of a field."""
        return self.rows.column("SELECT DISTINCT value FROM fields WHERE name = :name", name=name)

    def ids_with_value(self, name: str, values: Sequence[str]) -> list[int]:
        """Return the ids of documents whose field has any of the values."""
        statement = "SELECT document_id FROM fields WHERE name = :name AND value IN :values"
        return list({id_ for (id_,) in self.rows.within(statement, values, name=name)})

    def values(self, name: str) -> list[tuple[int, str]]:
        """Return (document id, value) of a field."""
        rows = self.rows.all("SELECT document_id, value FROM fields WHERE name = :name", name=name)
        return [(id_, value) for id_, value in rows]

    def fields_of(self, ids: Sequence[int]) -> list[tuple[int, str, str]]:
        """Return (document id, name, value) of all fields of documents."""
        statement = "SELECT document_id, name, value FROM fields WHERE document_id IN :values"
        return [(id_, name, value) for id_, name, value in self.rows.within(statement, ids)]

    # Words.

    def words(self, words: Sequence[str]) -> list[StoredWord]:
        """Return the `words` that are stored."""
        return list(map(StoredWord._make, self.rows.within(f"{_WORDS} WHERE word IN :values", words)))

    def words_of(self, ids: Sequence[int]) -> list[StoredWord]:
        """Return words by their ids, in the order of ids."""
        rows = self.rows.within(f"{_WORDS} WHERE id IN :values ORDER BY id", sorted(ids))
        return list(map(StoredWord._make, rows))

    def all_words(self, *, known: bool = False) -> Iterator[StoredWord]:
        """Iterate over all words, or only the `known` ones, which have a vector, in the order of their ids."""
        where = f"WHERE words.row != {UNKNOWN}" if known else ""
        return map(StoredWord._make, self.rows.stream(f"{_WORDS} {where} ORDER BY id"))

    def unknown_words(self, documents: Sequence[int]) -> dict[int, tuple[str, ...]]:
        """Return the words without a vector of some documents, by id, in alphabetical order."""
        ids: dict[int, set[int]] = {id_: set() for id_ in documents}
        for id_, words in self.rows.within(
            "SELECT document_id, words FROM parts WHERE document_id IN :values", documents
        ):
            ids[id_].update(unpack(f"<{len(words) // 4}i", words))
        stored = self.words_of(list(set(chain.from_iterable(ids.values()))))
        texts = {word.id: word.word for word in stored if word.row == UNKNOWN}
        return {id_: tuple(sorted(texts[word] for word in words if word in texts)) for id_, words in ids.items()}

    def word_ids(self) -> list[int]:
        """Return the ids of all words, increasing."""
        first, last = self.rows.number("SELECT min(id) FROM words"), self.last_word_id()
        if last - first + 1 == self.word_count(unused=True):  # counting takes a hundredth of the time of reading
            return list(range(first, last + 1))
        return self.rows.column("SELECT id FROM words ORDER BY id")

    def frequencies(self) -> list[tuple[int, int]]:
        """Return (id, number of documents) of every word with a vector, in the order of ids."""
        statement = f"SELECT id, frequency FROM words WHERE words.row != {UNKNOWN} ORDER BY id"
        return [(id_, frequency) for id_, frequency in self.rows.stream(statement)]

    # Watches and their events.

    def watches(self, first: int = 0, limit: int = LARGEST) -> list[Watch]:
        """Return the watches by name from the one at `first` on, at most `limit`."""
        columns = f"name, {self.rows.json('query')}, ranking, within, {self.rows.json('conditions')}, revision"
        return [
            Watch.stored(name, json_value(query), ranking, within, json_value(conditions), revision)
            for name, query, ranking, within, conditions, revision in self.rows.all(
                f"SELECT {columns} FROM watches ORDER BY name LIMIT :limit OFFSET :first",
                first=first,
                limit=limit,
            )
        ]

    def events(self, after: int, limit: int) -> list[Event]:
        """Return the first events with a number above `after`, at most `limit`."""
        statement = (
            "SELECT number, watch, document, distance, revision FROM events WHERE number > :after "
            "ORDER BY number LIMIT :limit"
        )
        return [Event(*row) for row in self.rows.all(statement, after=after, limit=limit)]

    def watch_count(self, without: str = "") -> int:
        """Return the number of watches of other names than one; no name is empty."""
        return self.rows.number("SELECT count(*) FROM watches WHERE name != :name", name=without)

    def followed(self) -> tuple[str, ...]:
        """Return the names of the tables with rows for which changes of documents are followed."""
        return ("watches",) if self.watch_count() else ()

    def watch_size(self) -> int:
        """Return the characters of the names, queries and filters of all watches, as JSON."""
        query, conditions = self.rows.json("query"), self.rows.json("conditions")
        return self.rows.number(f"SELECT sum(length(name) + length({query}) + length({conditions})) FROM watches")

    def last_event(self) -> int:
        """Return the largest number of an event that was ever given, 0 if none was."""
        return max(self._number_set(EVENTS_FORGOTTEN), self.rows.number("SELECT max(number) FROM events"))

    def keys_and_revisions(self, ids: Sequence[int]) -> dict[int, tuple[str, int]]:
        """Return the key of documents and the revision that changed each last, by id."""
        rows = self.rows.within("SELECT id, key, revision FROM documents WHERE id IN :values", ids)
        return {id_: (key, revision) for id_, key, revision in rows}
