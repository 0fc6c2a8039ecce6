"""Changes the tables of a collection that another version of moverank has made; nothing else ever does that."""

from contextlib import closing
from pathlib import Path

from moverank.indexer.errors import NoCollection
from moverank.indexer.files.location import display_name
from moverank.indexer.store import locked_for_writing
from moverank.indexer.store.place import unprepared_store


def upgrade(directory: Path, *, dry_run: bool = False, wait: float = 0.0) -> tuple[str, tuple[str, ...]]:
    """Migrate a collection to this version's schema; return the schema that it had, and those that followed.

    With `dry_run`, nothing is changed. In PostgreSQL the migration waits `wait` seconds, two at least, for the tables
    that other transactions use, and meanwhile lets others read every two seconds. Raises LockedError, which names who
    holds the tables, or another writer, and CollectionError for a schema that this version does not know.
    """
    store = unprepared_store(directory)
    if store is None:
        raise NoCollection(f"there is no collection in {display_name(directory)}")
    with closing(store):
        before, steps = store.schema()
        if steps and not dry_run:
            with locked_for_writing(store, directory, wait):
                before, steps = store.schema()
                if steps:
                    store.migrate(wait)
    return before, steps
