"""Checks commands whose connection to PostgreSQL is lost at any message: within statements, at commits, while it opens.

Each sample copies a small collection, and runs one command through a proxy which ends one connection: before the server
gets a message, or after it has done what the message says. The command must succeed, or fail with one sentence; then it
is run again. Lost: documents or results that are neither those before nor those after the change, or not the latter
though the command or its second run succeeded. Damaged: `check` finds something, or a cache gives other results.
"""

import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.small_collection import answers, documents, prepare, reversed_vectors  # isort: split

from moverank import Collection
from moverank.indexer.errors import ConnectionLost
from moverank.indexer.files.location import CACHE, collection_directory
from moverank.indexer.maintenance.backup import copy_collection
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.maintenance.repair import repair
from tests.benchmarks.common import any_missed, argument_parser, show_table, verdict
from tests.engines.cutting_proxy import CuttingProxy, cutting_proxy
from tests.engines.postgres_server import postgres_server
from tests.indexer.world import CollectionFactory

Command = Callable[[str], object]
"""Does something with the collection of a URL, and returns what must not depend on lost connections, if anything."""

HEADS = ("command", "cuts", "succeeded", "one sentence", "errors", "lost", "damaged", "")
_REMOVED = ["d3", "d4"]


class Commands:
    """Commands by name; files that they need are in `directory`, and `base` is the URL of the collection copied."""

    def __init__(self, directory: Path, base: str) -> None:
        self._directory, self._base = directory, base
        self._settings = CollectionFactory(directory).settings()
        self._vectors = str(reversed_vectors(directory))
        changes: dict[str, Callable[[Collection], object]] = {
            "index": lambda opened: opened.index(documents(range(0, 60, 2), 3)) and None,
            "prune": lambda opened: opened.index(documents(range(0, 60, 2), 3), prune=True, confirmed=True) and None,
            "remove": lambda opened: opened.remove([key for key in _REMOVED if key in opened]) and None,
            "refit": lambda opened: opened.refit(),
            "vectors": lambda opened: opened.refit(embedding=self._vectors),
            "search": answers,
            "list": lambda opened: [document.key for document in opened],
        }
        self.by_name: dict[str, Command] = {
            **{name: self._opened(change) for name, change in changes.items()},
            "create": self._create,
            "copy to it": lambda url: copy_collection(base, _other(url)) if not Collection.exists(_other(url)) else 1,
            "copy from it": self._copy_from,
            "check": lambda url: check_collection(collection_directory(url)).sentences(),
            "repair": lambda url: repair(collection_directory(url)).sentences(),
        }

    def _opened(self, change: Callable[[Collection], object]) -> Command:
        def run(url: str) -> object:
            with Collection.open(url) as opened:
                return change(opened)

        return run

    def _create(self, url: str) -> None:
        if not Collection.exists(_other(url)):
            Collection.create(_other(url), self._settings).close()

    def _copy_from(self, url: str) -> object:
        shutil.rmtree(self._directory / "copy", ignore_errors=True)
        copy_collection(url, self._directory / "copy")
        return _state(str(self._directory / "copy"))


def _other(url: str) -> str:
    """Return the URL of another schema."""
    return url.replace("schema=", "schema=other_")


def _state(url: str) -> object:
    """Return all documents, and the answers."""
    with Collection.open(url) as collection:
        found = {one.key: (one.title, tuple(part.text for part in one.parts)) for one in collection}
        return found, answers(collection)


class Trials:
    """Runs commands on copies of the database `base`, through a proxy."""

    def __init__(self, proxy: CuttingProxy, commands: Commands) -> None:
        self._proxy, self._commands = proxy, commands
        self._direct, self._cut = (_url(host, "trial") for host in (os.environ["PGHOST"], str(proxy.directory)))
        self._restore(warm=False)
        self._before = self._states()
        _state(self._cut)  # makes the derived files
        self._warm = shutil.copytree(collection_directory(self._cut), Path(os.environ[CACHE]) / "warm")
        self._expected: dict[str, tuple[object, object]] = {}

    def _states(self) -> object:
        """Return the state of the collection and of that which commands may create, from the server itself."""
        other = _other(self._direct)
        return _state(self._direct), _state(other) if Collection.exists(other) else None

    def _restore(self, *, warm: bool) -> None:
        """Make the database again; `warm`: with the derived files of its state."""
        import psycopg

        with psycopg.connect(autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS trial WITH (FORCE)")
            connection.execute("CREATE DATABASE trial TEMPLATE base")
        for url in (self._direct, self._cut, _other(self._direct), _other(self._cut)):
            shutil.rmtree(collection_directory(url))
        if warm:
            shutil.copytree(self._warm, collection_directory(self._cut), dirs_exist_ok=True)

    def messages(self, name: str, *, warm: bool) -> int:
        """Return how many messages a command sends, and keep its result."""
        self._restore(warm=warm)
        self._proxy.arm(0, delivered=False)
        result = self._commands.by_name[name](self._cut)
        count = self._proxy.messages
        self._expected[name] = result, self._states()
        return count

    def cut(self, name: str, message: int, *, warm: bool, delivered: bool) -> str:
        """Run a command whose connection ends at a message; return the column in which it counts."""
        command, (expected, after) = self._commands.by_name[name], self._expected[name]
        self._restore(warm=warm)
        self._proxy.arm(message, delivered=delivered)
        lost = False
        try:
            result = command(self._cut)
        except ConnectionLost:
            lost = True
        except Exception as error:  # noqa: BLE001 - counted, whatever it is
            sys.stderr.write(f"{name}, message {message}: {error!r}\n")
            return "errors"
        self._proxy.arm(0, delivered=False)
        if lost:
            if self._states() not in (self._before, after):
                return "lost"
            result = command(self._cut)
        if result != expected or self._states() != after:
            return "lost"
        if any(check_collection(collection_directory(url)).sentences() for url in (self._cut, self._direct)):
            return "damaged"
        if (_state(self._cut), _state(self._direct)) != (after[0],) * 2:  # type: ignore[index]  # a pair
            return "damaged"
        return "one sentence" if lost else "succeeded"


def _url(host: str, database: str) -> str:
    return f"postgresql://postgres@/{database}?host={host}&schema=forum"


def report(samples: int, seed: int, directory: Path) -> list[list[object]]:
    """Cut connections at so many random messages; return the rows of the table."""
    import psycopg

    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    with psycopg.connect(autocommit=True) as connection:
        connection.execute("CREATE DATABASE base")
    base = _url(os.environ["PGHOST"], "base")
    with Collection.create(base, CollectionFactory(directory).settings()) as collection:
        collection.index(documents(range(40), 0))
    rows: list[list[object]] = []
    with cutting_proxy() as proxy:
        commands = Commands(directory, base)
        trials = Trials(proxy, commands)
        for name in commands.by_name:
            counts = Counter[str]()
            for warm in (True, False):
                most = trials.messages(name, warm=warm)
                for i in range(samples // 2):
                    cut_at = 1 + int((i + rng.random()) * most / (samples // 2))
                    counts[trials.cut(name, cut_at, warm=warm, delivered=bool(i % 2))] += 1
            bad = [counts[column] for column in HEADS[4:7]]
            rows.append([name, counts.total(), *(counts[column] for column in HEADS[2:4]), *bad, verdict(not any(bad))])
    return rows


def main() -> None:
    """Print a row for each command; exit with 1 if anything was lost or damaged."""
    parser = argument_parser(__doc__)
    parser.add_argument("--samples", type=int, default=60, help="lost connections for each command (60)")
    parser.add_argument("--seed", type=int, default=0, help="of the messages (0)")
    arguments = parser.parse_args()
    prepare()
    with TemporaryDirectory() as name, postgres_server() as variables:
        os.environ |= variables | {CACHE: str(Path(name) / "cache")}
        rows = report(arguments.samples, arguments.seed, Path(name))
    show_table(HEADS, rows)
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
