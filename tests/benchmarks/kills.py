"""Shows what is left of a collection whose writer is killed (SIGKILL) at a random instant, again and again.

Each round copies a small collection, lets a process change it until it is killed, and opens what is left in another
process. It must hold what the last acknowledged change left, or what the change under way would have left, and find
what a collection made from scratch of the same documents finds. The next change must leave no temporary file.
Work: adding (with fold-in), updating, removing, refitting, rebuilding a damaged snapshot, migrating up and down.
"""

import argparse
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.hard_life import answers, documents, forked, from_scratch, killed, made, prepare  # isort: split

from alembic import command

from moverank import Collection, Document
from moverank.indexer.store import Store, schema, sqlite_url
from tests.benchmarks.common import show_table, verdict

_FIRST = 40
_LONGEST = 1.2  # seconds until the kill
HEADS = (
    "killed while",
    "kills",
    "acknowledged",
    "documents lost",
    "changes lost",
    "wrong",
    "needed help",
    "left over",
    "",
)

State = dict[str, Document]
Tell = Callable[[str], None]


def keyed(turned: list[Document]) -> State:
    """Return documents by key."""
    return {found.key: found for found in turned}


def step(kind: str, state: State, number: int) -> State:
    """Return what a change makes of a state."""
    if kind == "add":
        return state | keyed(documents(range(_FIRST + 5 * number, _FIRST + 5 * number + 5), number))
    if kind == "update":
        return state | keyed(documents(range(number % 3, _FIRST, 3), number + 1))
    if kind == "remove":
        return {key: found for key, found in state.items() if key != f"d{number}"}
    return state


def work(kind: str, place: Path, state: State, tell: Tell) -> None:
    """Change a collection, and acknowledge each change, for ever."""
    if kind == "migrate":
        migrate_for_ever(place)
    with Collection.open(place) as collection:
        for number in range(_FIRST):
            after = step(kind, state, number)
            if kind == "refit":
                collection.refit()
            elif kind == "rebuild":
                [path, *_] = place.glob("snapshot-*/weights")
                path.write_bytes(path.read_bytes()[:-1] + bytes([number]))
                collection.refresh()
                collection.search("ant")
            elif kind == "remove":
                collection.remove([f"d{number}"])
            else:
                collection.index([found for key, found in after.items() if state.get(key) != found])
            state = after
            tell(str(number))


def migrate_for_ever(place: Path) -> None:
    """Go to a newer schema and back."""
    while True:
        store = Store(sqlite_url(place / "collection.db"))
        with store.migrating() as connection:
            command.downgrade(schema.alembic_config(connection), "0001")
        store.close()


def newer_schema(folder: Path) -> None:
    """Let there be a newer schema than the one of this version."""
    (folder / "v0002_next.py").write_text(
        "import sqlalchemy as sa\nfrom alembic import op\nrevision, down_revision = '0002', '0001'\n"
        "def upgrade():\n"
        "    op.create_table('extra', sa.Column('id', sa.Integer(), primary_key=True))\n"
        "    with op.batch_alter_table('documents') as batch:\n"
        "        batch.add_column(sa.Column('extra', sa.String()))\n"
        "def downgrade():\n"
        "    op.drop_table('extra')\n"
        "    with op.batch_alter_table('documents') as batch:\n"
        "        batch.drop_column('extra')\n"
    )
    given = schema.alembic_config

    def config(connection: Any) -> Any:
        made = given(connection)
        own = Path(made.get_main_option("script_location")) / "versions"
        made.set_main_option("version_locations", f"{own}:{folder}")
        return made

    schema.alembic_config, schema.SCHEMA = config, "0002"


def stored(place: Path) -> dict[str, tuple[str, list[str]]]:
    """Return titles and texts of all documents."""
    store = Store(sqlite_url(place / "collection.db"))
    with store.reading() as reader:
        ids = list(reader.ids())
        shown, texts = reader.shown(ids), reader.texts(ids)
    store.close()
    return {shown[id_].key: (shown[id_].title, texts[id_]) for id_ in ids}


def judge(empty: Path, place: Path, before: State, after: State) -> str:
    """Open what was left, and say what is wrong with it."""
    found = stored(place)
    could_be = [
        state
        for state in (before, after)
        if {key: (one.title, [part.text for part in one.parts]) for key, one in state.items()} == found
    ]
    if not could_be:
        return "documents" if before.keys() & after.keys() - found.keys() else "changes"
    with Collection.open(place) as collection:
        if answers(collection) != from_scratch(empty, list(could_be[0].values())):
            return "results"
        collection.index(documents([0], 77))
    left = [path.name for path in place.iterdir() if path.name.startswith((".", "new-", "lock.owner"))]
    return f"left {left}" if left or len(list(place.glob("snapshot-*"))) > 1 else ""


def once(base: Path, empty: Path, kind: str, after: float) -> tuple[int, str]:
    """Kill one process; return how many changes it had acknowledged, and what is wrong afterwards."""
    place = base.with_name("round")
    shutil.copytree(base, place)
    state = keyed(documents(range(_FIRST), 0))
    told = killed(lambda tell: work(kind, place, state, tell), after)
    if any(line.startswith("!") for line in told):
        return len(told), "! " + " ".join(told)
    for number in range(len(told)):
        state = step(kind, state, number)
    said = forked(lambda: judge(empty, place, state, step(kind, state, len(told))))
    shutil.rmtree(place)
    return len(told), said


KINDS = ("add", "update", "remove", "refit", "rebuild", "migrate")


def main() -> None:
    """Print a row for each kind of work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="how many (300)")
    parser.add_argument("--seed", type=int, default=0, help="of the instants (0)")
    parser.add_argument("--work", choices=KINDS, action="append", help="only this kind; may be repeated")
    asked = parser.parse_args()
    prepare()
    rng = random.Random(asked.seed)  # noqa: S311 - instants, no secret
    rows, total = [], Counter[str]()
    with TemporaryDirectory() as name:
        base = made(Path(name), "base", documents(range(_FIRST), 0))
        empty = made(Path(name), "empty", [])
        (Path(name) / "versions").mkdir()
        kinds = asked.work or KINDS
        for kind in kinds:
            if kind == "migrate":
                newer_schema(Path(name) / "versions")
            tally, acknowledged = Counter[str](), 0
            kills = asked.kills // len(kinds)
            for _ in range(kills):
                done, said = once(base, empty, kind, rng.uniform(0.0, _LONGEST))
                acknowledged += done
                tally[said.split(" ")[0]] += 1
                if said:
                    sys.stderr.write(f"{kind}: {said}\n")
            total += tally
            faults = [tally[fault] for fault in ("documents", "changes", "results", "!", "left")]
            sys.stderr.write(f"{kind}: {kills} kills, {dict(tally)}\n")
            rows.append([kind, kills, acknowledged, *faults, verdict(not any(faults))])
    show_table(HEADS, rows)
    sys.exit(1 if total.total() - total[""] else 0)


if __name__ == "__main__":
    main()
