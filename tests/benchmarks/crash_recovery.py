"""Checks the state of a collection whose writer was killed by SIGKILL at a random instant.

Each round copies a small collection, changes it in a process until that is killed, and opens it in another process. The
collection must have the state after the last acknowledged change, or after the change in progress, and return what a
new collection of the same documents returns. The next change must leave no temporary file. Operations: adding
documents, updating, removing, refitting, replacing the word vectors, rebuilding a damaged snapshot, migrating the
schema up and down (of SQLite).
"""

import random
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.small_collection import (  # isort: split
    answers,
    answers_from_scratch,
    create,
    documents,
    prepare,
    reversed_vectors,
    temporary_files,
)

import pytest
from alembic import command

from moverank import Collection, Document
from moverank.indexer.maintenance.upgrade import upgrade
from moverank.indexer.store import Store, open_store, schema, sqlite_url
from moverank.indexer.store.rows import SCHEMA
from tests.benchmarks.child_process import FAILED, Report, run_in_child, run_until_killed
from tests.benchmarks.common import any_missed, argument_parser, show_table, verdict
from tests.indexer.store.next_schema import add_next_schema
from tests.postgres_store import collections_in, copied, removed

_FIRST = 40
_LONGEST = 1.2  # seconds until the kill
OPERATIONS = ("add", "update", "remove", "refit", "vectors", "rebuild", "migrate")
FAULTS = ("documents", "changes", "results", FAILED, "left")
"""The first words of the outcomes of `fault`, in the order of the columns."""
VECTORS = ("reversed.txt", "vectors.txt")
"""Two files of the same word vectors: with those of one and rows of the other, results would be wrong."""
HEADS = (
    "killed during",
    "kills",
    "acknowledged",
    "documents lost",
    "changes lost",
    "wrong results",
    "not usable",
    "files left",
    "",
)

State = dict[str, Document]


def by_key(listed: list[Document]) -> State:
    """Return documents by key."""
    return {one.key: one for one in listed}


def after_change(operation: str, state: State, number: int) -> State:
    """Return the state after change `number` of an operation."""
    if operation == "add":
        return state | by_key(documents(range(_FIRST + 5 * number, _FIRST + 5 * number + 5), number))
    if operation == "update":
        return state | by_key(documents(range(number % 3, _FIRST, 3), number + 1))
    if operation == "remove":
        return {key: one for key, one in state.items() if key != f"d{number}"}
    return state


def change(operation: str, path: Path, state: State, report: Report) -> None:
    """Make the changes of an operation, and report each one; a migration is repeated without end."""
    if operation == "migrate":
        migrate_up_and_down(path)
    with Collection.open(path) as collection:
        for number in range(_FIRST):
            after = after_change(operation, state, number)
            if operation == "refit":
                collection.refit()
            elif operation == "vectors":
                collection.refit(embedding=str(path.with_name(VECTORS[number % 2])))
            elif operation == "rebuild":
                [file, *_] = path.glob("snapshot-*/weights")
                file.write_bytes(file.read_bytes()[:-1] + bytes([number]))
                collection.refresh()
                collection.search("ant")
            elif operation == "remove":
                collection.remove([f"d{number}"])
            else:
                collection.index([one for key, one in after.items() if state.get(key) != one])
            state = after
            report(str(number))


def migrate_up_and_down(path: Path) -> None:
    """Migrate to the newest schema and back to the first, without end."""
    while True:
        upgrade(path)
        store = Store(sqlite_url(path / "collection.db"))
        with store.migrating() as connection:
            command.downgrade(schema.alembic_config(connection), SCHEMA)
        store.close()


def stored(path: Path) -> dict[str, tuple[str, list[str]]]:
    """Return the titles and texts of all documents."""
    store = open_store(path)
    with store.reading() as reader:
        ids = list(reader.ids())
        shown, texts = reader.shown(ids), reader.texts(ids)
    store.close()
    return {shown[id_].key: (shown[id_].title, texts[id_]) for id_ in ids}


def fault(empty: Path, path: Path, before: State, after: State) -> str:
    """Open a collection after a kill, and return what is wrong with it, "" for nothing.

    `empty` is a collection without documents; `before` and `after` are the valid states.
    """
    upgrade(path)
    content = stored(path)
    matching = [
        state
        for state in (before, after)
        if {key: (one.title, [part.text for part in one.parts]) for key, one in state.items()} == content
    ]
    if not matching:
        return "documents" if before.keys() & after.keys() - content.keys() else "changes"
    with Collection.open(path) as collection:
        if answers(collection) != answers_from_scratch(empty, list(matching[0].values())):
            return "results"
        collection.index(documents([0], 77))
    left = temporary_files(path)
    left += [file.name for kind in ("snapshot-", "vectors") for file in sorted(path.glob(f"{kind}*"))[1:]]
    return f"left {left}" if left else ""


def kill_once(base: Path, empty: Path, operation: str, seconds: float) -> tuple[int, str]:
    """Kill a process which changes a copy of `base` after some seconds.

    Returns the number of acknowledged changes, and the `fault` afterwards.
    """
    path = base.with_name("round")
    copied(base, path)
    state = by_key(documents(range(_FIRST), 0))
    lines = run_until_killed(lambda report: change(operation, path, state, report), seconds)
    if any(line.startswith(FAILED) for line in lines):
        problem = f"{FAILED} " + " ".join(lines)
    else:
        for number in range(len(lines)):
            state = after_change(operation, state, number)
        after = after_change(operation, state, len(lines))
        problem = run_in_child(lambda: fault(empty, path, state, after))
    removed(path)
    return len(lines), problem


def row(base: Path, empty: Path, operation: str, kills: int, rng: random.Random) -> list[object]:
    """Kill processes during an operation, and return its row."""
    tally, acknowledged = Counter[str](), 0
    for _ in range(kills):
        changes, problem = kill_once(base, empty, operation, rng.uniform(0.0, _LONGEST))
        acknowledged += changes
        tally[problem.split(" ")[0]] += 1
        if problem:
            sys.stderr.write(f"{operation}: {problem}\n")
    sys.stderr.write(f"{operation}: {kills} kills, {dict(tally)}\n")
    counts = [tally[name] for name in FAULTS]
    return [operation, kills, acknowledged, *counts, verdict(not any(counts))]


def main() -> None:
    """Print a row for each operation; exit with 1 if one has a fault."""
    parser = argument_parser(__doc__)
    parser.add_argument("--kills", type=int, default=300, help="number of kills (300)")
    parser.add_argument("--seed", type=int, default=0, help="of the instants (0)")
    parser.add_argument("--work", choices=OPERATIONS, action="append", help="run only this operation; may be repeated")
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite", help="database (sqlite)")
    arguments = parser.parse_args()
    prepare()
    rng = random.Random(arguments.seed)  # noqa: S311 - instants, no secret
    rows = []
    with TemporaryDirectory() as name, collections_in(arguments.store):
        base = create(Path(name), "base", documents(range(_FIRST), 0))
        empty = create(Path(name), "empty", [])
        reversed_vectors(Path(name))
        operations = arguments.work or (OPERATIONS if arguments.store == "sqlite" else OPERATIONS[:-1])
        for operation in operations:
            if operation == "migrate":
                add_next_schema(pytest.MonkeyPatch(), Path(name))
                upgrade(empty)
            rows.append(row(base, empty, operation, arguments.kills // len(operations), rng))
    show_table(HEADS, rows)
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
