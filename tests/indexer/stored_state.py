"""What a collection has on disk: rows of its database, and its snapshots."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from moverank import Collection


def stored_keys(collection: Collection) -> set[str]:
    """Return the keys of all documents."""
    with collection.reading() as reader:
        return {document.key for document in reader.shown(list(reader.ids())).values()}


def stored_ids(collection: Collection, keys: Sequence[str]) -> list[int]:
    """Return the ids of documents by key."""
    with collection.reading() as reader:
        known = reader.known(keys)
    return [known[key].id for key in keys]


def stored_parts(collection: Collection, key: str) -> list[tuple[Any, ...]]:
    """Return a document's rows of `parts`: (document, id, position, rank, digest, words, counts)."""
    with collection.reading() as reader:
        id_ = reader.known([key])[key].id
        return [tuple(row) for row in reader.parts([id_]).get(id_, [])]


def stored_frequencies(collection: Collection) -> dict[str, int]:
    """Return the stored document frequencies of words with a vector, without zeros."""
    with collection.reading() as reader:
        words = {row.id: row.word for row in reader.all_words(known=True)}
        return {words[id_]: frequency for id_, frequency in reader.frequencies() if frequency}


def vector_rows(collection: Collection) -> dict[str, int]:
    """Return the stored row of the vector of each word."""
    with collection.reading() as reader:
        return {word.word: word.row for word in reader.all_words()}


def snapshots(collection: Collection) -> list[str]:
    """Return the names of a collection's snapshots."""
    return sorted(path.name for path in collection.path.glob("snapshot-*"))


def only_snapshot(collection: Collection) -> Path:
    """Return the path of a collection's only snapshot."""
    (name,) = snapshots(collection)
    return collection.path / name


def change_last_byte(path: Path) -> None:
    """Damage a file: its length stays the same."""
    content = path.read_bytes()
    path.write_bytes(content[:-1] + (b"\x55" if content[-1:] != b"\x55" else b"\xaa"))
