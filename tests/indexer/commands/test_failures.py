"""Exit codes and messages: one sentence for whatever goes wrong, and nothing is changed."""

import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from moverank.indexer.commands.failures import error_report
from moverank.indexer.files.location import display_name
from moverank.indexer.operations import operation_registry
from moverank.rerank import entry_points
from tests.indexer.commands.program import Call
from tests.indexer.maintenance.damage import execute

pytestmark = pytest.mark.store

# {new} is the path of a collection to be created, {old} that of an existing one.
INVALID_CALLS: list[tuple[str, int, str]] = [
    ("index nowhere.jsonl -i {new}", 1, "nowhere.jsonl: there is no such file or directory"),
    ("index nowhere*.txt -i {new}", 1, "nowhere*.txt: no file matches this pattern"),
    ("index {empty} -i {new}", 1, "there is no file in this directory"),
    ("index - - -i {new}", 2, "- (standard input) is named twice"),
    ("index {docs} -i {new} --format nope", 2, "there is no format 'nope': choose one of text, markdown, html"),
    ("index {docs} -i {new} --embedding nowhere.txt", 1, "nowhere.txt cannot be read: No such file"),
    ("index {docs} -i {new} --embedding lsi --setting train_options=dim=x", 2, "'dim=x': dim must be a whole number"),
    (
        "index {docs} -i {new} --embedding {vec} --setting train_options=dim=3",
        2,
        "options of training need --embedding train",
    ),
    ("index {docs} -i {new} --gamma inf", 2, "gamma must be a number of 0 or more, not inf"),
    ("index {docs} -i {new} --gamma -1", 2, "invalid value for '--gamma'"),
    ("index {docs} -i {new} --setting weights=bm25", 2, "weights must be tf, tfidf, norm or model, not 'bm25'"),
    ("index {docs} -i {new} --setting stop_words=nowhere.txt", 1, "nowhere.txt: the stop words cannot be read"),
    ("index {docs} -i {docs}", 1, "cannot be made: File exists"),
    ("index {docs} -i {full}", 1, "holds mine.txt and no collection: choose another place"),
    ("index {docs} -i {old} --embedding lsi", 2, "the collection was made with another embedding"),
    ("index {docs} -i {old} --setting stop_words=none", 2, "the collection was made with other stop words (english)"),
    ("index {docs} -i {old} --setting normalize=yes", 2, "the collection was made with another normalize (False)"),
    (
        "index {docs} -i {new} --setting title_weight=0",
        2,
        "the title weight must be a whole number from 1 to 100, not 0",
    ),
    (
        "index {docs} -i {new} --setting title_weight",
        2,
        "--setting 'title_weight': write NAME=VALUE with train_options, ",
    ),
    (
        "index {docs} -i {new} --setting title_wieght=2",
        2,
        "--setting 'title_wieght=2' (did you mean title_weight?): write",
    ),
    ("index {docs} -i {new} --setting gamma=2", 2, "--setting 'gamma=2': write --gamma 2"),
    ("index {docs} -i {new} --setting normalize=maybe", 2, "normalize must be yes or no, not 'maybe'"),
    (
        "refit -i {old} --setting faiss=Flat",
        2,
        "--setting 'faiss=Flat': write NAME=VALUE with train_options, normalize",
    ),
    ("search cat -i {old} --title-weight 2", 2, "no such option: --title-weight"),
    ("index", 2, "missing argument 'paths'"),
    ("search cat -i {new}", 1, "there is no collection in "),
    ("info -i {new}", 1, "make one with `moverank index PATH -i "),
    ("search -i {old}", 2, "give one of these: a query, --file FILE, --thread FILE, or --queries FILE"),
    (
        "search cat --queries nowhere.txt -i {old}",
        2,
        "give one of these: a query, --file FILE, --thread FILE, or --queries FILE",
    ),
    ("search --queries nowhere.txt -i {old}", 1, "nowhere.txt: cannot be read: No such file or directory"),
    ("search zebra -i {old}", 1, "the query 'zebra' has no word that the collection has a vector for"),
    ("search the -i {old}", 1, "all of its words are stop words"),
    ("search '' -i {old}", 1, "it is empty"),
    ("search cat -i {old} -k 0", 2, "invalid value for '-k'"),
    ("search cat -i {old} --within 101%", 2, "the largest distance must be a number of 0 or more, or a share such as"),
    ("search cat -i {old} --max-distance far", 2, "or a share such as 0.1%, not 'far'"),
    ("search cat -i {old} --percentile --budget 9", 2, "percentiles go without --budget"),
    ("search cat -i {old} --budget 0", 2, "the budget must be a number of seconds above 0, not 0"),
    ("explain cat nobody -i {old} --why-not", 1, "the collection has no document with the key 'nobody'"),
    ("search cat -i {old} --depth 5", 2, "depth must be at least k, which is 10, not 5"),
    (
        "search cat -i {old} --distance nope",
        2,
        "there is no ranking 'nope': choose auto, the collection's own, alone",
    ),
    ("search cat -i {old} --rank bm25:stme=english", 2, "bm25 has no option 'stme' (did you mean stem?): choose"),
    ("search cat -i {old} --rank wmd+bm52", 2, "there is no ranking 'bm52' (did you mean bm25?): choose auto"),
    ("search cat -i {old} --rank bm25:ngrams=9", 2, "ngrams must be a whole number from 2 to 8, not '9'"),
    ("search cat -i {old} --rank bm25:ngrams=4,stem=english", 2, "stems or n-grams: leave stem or ngrams out"),
    ("search cat -i {old} --rank bm25:stem=englsh", 2, "no stems for 'englsh' (did you mean english?): choose"),
    ("index {docs} -i {new} --format jsnol", 2, "there is no format 'jsnol' (did you mean jsonl?): choose"),
    ("index {docs} -i {new} --first-stage fihser", 2, "there is no encoder 'fihser' (did you mean fisher?): choose"),
    ("help rankng", 2, "the manual has no page 'rankng' (did you mean ranking?): choose"),
    ("help evalute knn", 2, "or a command (did you mean evaluate?): "),
    ("serch cat", 2, "no such command 'serch'. Did you mean 'search'"),
    ("search hot plug", 2, 'put a text of several words into quotes: `moverank search "hot plug"`'),
    ("explain hot plug d1 -k 3", 2, 'put a text of several words into quotes: `moverank explain "hot plug" d1`'),
    ("search hot $plug", 2, "put a text of several words into quotes: `moverank search 'hot $plug'`"),
    ("info cat", 2, "got unexpected extra argument(s) (cat) (see `moverank info --help`)"),
    ("search cat -i {old} --distance bm25:k9=1", 2, "bm25 has no option 'k9'"),
    ("search cat -i {old} --rank wmd+x*bm25", 2, "the weight of a term must be a number above 0, not 'x'"),
    ("search cat -i {old} --rank wmd --distance bm25", 2, "rank and distance are two names of one option"),
    ("search cat -i {old} --rank wmd+prior:field=label", 2, "no document has a number in the field 'label'"),
    ("index {docs} -i {new} --rank wmd+pwmd", 2, "a sum can have only one of wmd and pwmd"),
    ("search cat -i {old} --distance wmd --gamma 1", 2, "wmd weighs all parts alike"),
    ("search cat -i {old} --where =x", 2, "'=x' is not a condition: write FIELD=V, FIELD!=V"),
    ("search cat -i {old} --where label<x", 2, "'label<x': < compares numbers and dates"),
    ("list -i {old} --where !nope", 2, "no document has a field 'nope': the fields are label, year"),
    ("export -i {old} --where year>2001 -o nowhere/x.jsonl", 1, "nowhere/x.jsonl: cannot be written: No such file"),
    ("export -i {old} -o {full}", 1, "cannot be written: Is a directory"),
    ("show d1 nowhere -i {old}", 1, "the collection has no document with the key 'nowhere'"),
    ("remove -i {old}", 2, "either by their keys, or by --where, --source or both"),
    ("remove d1 -i {old} --where year", 2, "either by their keys, or by --where, --source or both"),
    ("remove -i {old} --where year", 2, "nothing was removed: all 10 documents pass the filter; --yes"),
    ("search cat -i {old} --where nope=1", 2, "no document has a field 'nope': the fields are label, year"),
    ("search cat dog -i {old}", 2, "unexpected extra argument"),
    ("search cat --nope", 2, "no such option: --nope"),
    ("similar nowhere -i {old}", 1, "no document with the key 'nowhere'"),
    ("explain cat nowhere -i {old}", 1, "no document with the key 'nowhere'"),
    ("explain cat d1 -i {old} --html {empty}", 1, "cannot be written: Is a directory"),
    ("remove d1 nowhere -i {old}", 1, "nothing was removed: no document has the key 'nowhere'"),
    ("nope", 2, "no such command 'nope'"),
]


@pytest.mark.plugin("laboratory", "serving", "shards")
def test_an_invalid_call_is_one_sentence_and_changes_nothing(
    call: Call, collection: Path, documents: Path, vectors: Path, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    full, empty = tmp_path / "full", tmp_path / "empty"
    full.mkdir()
    (full / "mine.txt").write_text("cat")
    empty.mkdir()
    paths = {
        "new": tmp_path / "new",
        "old": collection,
        "docs": documents,
        "vec": vectors,
        "full": full,
        "empty": empty,
    }
    before = call("info", "-i", collection, "--json").json
    for line, code, message in INVALID_CALLS:
        with subtests.test(line):
            answer = call(*[word.strip("'").format(**paths) for word in line.split()])
            assert (answer.code, answer.out) == (code, "")
            assert message in answer.sentence
            assert not (tmp_path / "new").exists()
            assert [file.name for file in full.iterdir()] == ["mine.txt"]
            assert call("info", "-i", collection, "--json").json == before


def test_a_key_that_is_not_utf8_is_reported(call: Call, collection: Path) -> None:
    answer = call("similar", "caf\udce9", "-i", collection, "--json")
    assert answer.code == 1
    assert "the collection has no document with the key" in answer.sentence


def test_a_file_that_is_no_database_is_reported(call: Call, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "collection.db").write_bytes(b"no database at all" * 99)
    answer = call("info", "-i", tmp_path / "old")
    assert answer.code == 1
    assert "the database is damaged or not one of ours" in answer.sentence


@pytest.mark.parametrize("command", ["list", "list --json", "list --where year", "show d3", "export", "search cat"])
@pytest.mark.parametrize("metadata", ["null", "[1]"])
def test_metadata_that_are_no_object_are_damage(call: Call, collection: Path, command: str, metadata: str) -> None:
    execute(collection, f"UPDATE documents SET metadata = '{metadata}' WHERE key = 'd3'")  # noqa: S608 - of this test
    _check_damage(call, collection, command)


@pytest.mark.sqlite("PostgreSQL stores no NULL there")
@pytest.mark.parametrize("command", ["list", "list --json", "list --where year", "show d3", "export", "search cat"])
def test_missing_metadata_are_damage(call: Call, collection: Path, command: str) -> None:
    for before, after in (("NOT NULL", ""), ("", "NOT NULL")):
        with closing(sqlite3.connect(collection / "collection.db")) as connection, connection:
            connection.execute("PRAGMA writable_schema = ON")
            connection.execute(
                "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'documents'",
                (f"metadata JSON {before}", f"metadata JSON {after}"),
            )
        if before:
            execute(collection, "UPDATE documents SET metadata = NULL WHERE key = 'd3'")
    _check_damage(call, collection, command)
    checked = call("check", "-i", collection)
    assert checked.code == 1
    assert "the database is damaged: NULL value in documents.metadata" in checked.out


def _check_damage(call: Call, collection: Path, command: str) -> None:
    """Check that a command fails by one sentence about the document d3, the collection, and the way out."""
    answer = call(*command.split(), "-i", collection)
    assert answer.code == 1
    assert answer.sentence.startswith(
        f"the database of {display_name(collection)} is damaged: the document 'd3' has no metadata"
    )
    assert answer.sentence.endswith("index the texts again in a new place")


def test_an_unexpected_file_error_is_one_sentence(
    call: Call, collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "disk")

    monkeypatch.setattr("moverank.indexer.formatters.print_object", full)
    answer = call("info", "-i", collection, "--json")
    assert (answer.code, answer.sentence) == (1, "disk: No space left on device")


@pytest.mark.parametrize(
    ("command", "interrupted_at"), [("index", "collection.Collection.index"), ("info", "opening.index_info")]
)
def test_an_interrupted_run_is_one_sentence(
    call: Call, collection: Path, documents: Path, monkeypatch: pytest.MonkeyPatch, command: str, interrupted_at: str
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"moverank.indexer.{interrupted_at}", interrupted)
    answer = call(*([command, documents] if command == "index" else [command]), "-i", collection)
    assert (answer.code, answer.out) == (1, "")
    assert answer.sentence.startswith("interrupted")


def test_without_the_folder_of_proofs_they_are_refused_in_a_sentence(
    call: Call, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = property(lambda point: ".plugins.proofs." not in point.value)
    monkeypatch.setattr(entry_points.EntryPoint, "is_there", there)
    monkeypatch.setattr(operation_registry.PLUG_INS, "_loaded", {})
    monkeypatch.syspath_prepend(tmp_path)  # entry points are read again
    proof = ("--rank", "wmd", "--exact", "--proof", tmp_path / "a.proof")
    for operation, *arguments in (
        ("prove", "search", "cat", *proof),
        ("prove", "similar", "d1", *proof),
        ("digest", "info", "--digest", "wmd"),
        ("check-searches", "check", "--searches", "1"),
    ):
        answer = call(*arguments, "-i", collection)
        assert (answer.code, answer.out) == (1, "")
        assert answer.sentence.startswith(f"there is no operation '{operation}'")
    assert not (tmp_path / "a.proof").exists()
    assert "no such command 'verify'" in call("verify", tmp_path / "a.proof").sentence
    assert call("search", "cat", "-i", collection, "--rank", "wmd", "--exact").code == 0
    assert call("check", "-i", collection).out == "nothing is wrong\n"


@pytest.mark.plugin("agents", "serving")
@pytest.mark.parametrize(
    ("command", "extra", "package", "module"),
    [("serve", "server", "uvicorn", "serving.run_server"), ("mcp", "mcp", "mcp", "agents.mcp_server")],
)
def test_a_server_without_its_extra_names_the_line_that_installs_it(
    call: Call, collection: Path, monkeypatch: pytest.MonkeyPatch, command: str, extra: str, package: str, module: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"moverank.indexer.plugins.{module}", raising=False)
    answer = call(command, "-i", collection)
    assert answer.code == 2
    pattern = rf"`{command}` needs the package \w+: python -m pip install 'moverank\[{extra}\]'"
    assert re.search(pattern, answer.sentence)


def test_a_missing_part_of_moverank_is_one_sentence() -> None:
    report = error_report(ModuleNotFoundError("No module named 'moverank.gone'", name="moverank.gone"))
    assert report is not None
    assert report.sentence == "this installation lacks moverank.gone, a part of moverank: install moverank again"
    assert error_report(ModuleNotFoundError("No module named 'gone'", name="gone")) is None
