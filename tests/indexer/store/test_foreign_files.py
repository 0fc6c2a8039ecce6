"""Collections from somebody else: no link is written through, and what moverank never makes is refused."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from subprocess import PIPE

import pytest

from moverank import Collection
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.maintenance.repair import repair
from tests.indexer.commands.program import Call, program
from tests.indexer.world import MakeCollection, document

pytestmark = pytest.mark.sqlite("files of SQLite")
_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
_COMMANDS = (["search", "ant"], ["info"], ["list"], ["check"], ["remove", "a"], ["backup", "copy"], ["upgrade"])


@pytest.fixture
def place(make_collection: MakeCollection) -> Path:
    """Return a closed collection of two documents, searched once."""
    collection = make_collection([document("a", "ant bee"), document("b", "cat dog")])
    collection.search("ant", rank="wmd+bm25:stem=english")
    collection.close()
    return collection.path


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return program(monkeypatch, capsys)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has names that are not UTF-8")
def test_a_directory_whose_name_is_not_utf8_is_refused(place: Path, tmp_path: Path, call: Call) -> None:
    other = tmp_path / os.fsdecode(b"caf\xe9")
    (tmp_path / "ant.txt").write_text("ant bee\n")
    commands = ["index", str(tmp_path / "ant.txt"), "-i", str(other)], ["backup", str(other), "-i", str(place)]
    for command in commands:
        answer = call(*command)
        assert answer.code == 1
        assert "has a name that is not UTF-8: rename the directory" in answer.sentence
        assert not other.exists()
    place.rename(other)
    answer = call("search", "ant", "-i", str(other))
    assert (answer.code, answer.out) == (1, "")
    assert "has a name that is not UTF-8" in answer.sentence


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_a_database_that_is_a_link_is_refused(place: Path, tmp_path: Path, call: Call, suffix: str) -> None:
    file, victim = place / f"collection.db{suffix}", tmp_path / "victim"
    victim.write_bytes((place / "collection.db").read_bytes() if not suffix else b"precious")
    before = victim.read_bytes()
    file.unlink(missing_ok=True)
    file.symlink_to(victim)
    for line in _COMMANDS:
        answer = call(*line, "-i", place)
        assert answer.code == 1
        assert f"{file} is a link, which would be written through" in answer.err + answer.out
    assert victim.read_bytes() == before


def test_nothing_else_by_a_fixed_name_is_written_through_a_link(place: Path, tmp_path: Path) -> None:
    """Every file that a search, an evaluation or a repair has made is made a link, and made again."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    own = [path for path in place.iterdir() if path.is_file() and path.name not in ("collection.db", "lock")]
    assert own
    for path in own:
        path.unlink()
        path.symlink_to(victim)
    with Collection.open(place) as collection:
        collection.index([document("c", "gnu hen")])
        collection.search("ant", rank="wmd+bm25:stem=english")
        collection.search("ant", rank="wmd:proximity=empirical")
        assert collection.info()["documents"] == 3
        list(collection.pairs(9.0).pairs)
    repair(place)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        (f"CREATE VIEW v AS {_ENDLESS}", "view 'v'"),
        ("CREATE TRIGGER t AFTER INSERT ON words BEGIN DELETE FROM words; END", "trigger 't'"),
        ("CREATE VIRTUAL TABLE w USING fts5(x)", "table 'w'"),
        (f"ALTER TABLE settings RENAME TO s; CREATE VIEW settings AS {_ENDLESS}", "view 'settings'"),
    ],
)
def test_what_moverank_never_makes_is_refused(place: Path, call: Call, statement: str, named: str) -> None:
    with closing(sqlite3.connect(place / "collection.db")) as connection:
        connection.executescript(statement)
    for line in _COMMANDS:
        answer = call(*line, "-i", place)
        assert answer.code == 1
        assert f"has a {named}, which moverank never makes" in answer.err + answer.out
    assert len(check_collection(place).sentences()) == 1


def test_the_database_of_another_program_stays_as_it_is(tmp_path: Path, call: Call) -> None:
    place = tmp_path / "other"
    place.mkdir()
    with closing(sqlite3.connect(place / "collection.db")) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    before = (place / "collection.db").read_bytes()
    for line in _COMMANDS:
        assert "is the database of another program" in call(*line, "-i", place).err + call(*line, "-i", place).out
    assert (place / "collection.db").read_bytes() == before


_LONG = """
import sys
from pathlib import Path
from moverank.indexer.store import Store, sqlite_url
store = Store(sqlite_url(Path(sys.argv[1]) / "collection.db"))
try:
    print("running", flush=True)
    with store.reading() as reader:
        reader.rows.all(sys.argv[2])
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_long_statement_ends_by_a_signal(place: Path) -> None:
    command = [sys.executable, "-c", _LONG, str(place), f"SELECT count(*) FROM ({_ENDLESS})"]  # noqa: S608 - our own
    with subprocess.Popen(command, stdout=PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "running\n"
        time.sleep(0.5)  # so that the statement runs in most cases; the test holds in all
        process.send_signal(signal.SIGINT)
        assert process.communicate()[0] == "interrupted\n"
