"""The command line as people and scripts use it: answers, exit codes, and one sentence for whatever is wrong."""

import gzip
import importlib.metadata
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from filelock import FileLock
from typer.testing import CliRunner

from moverank import cli

WORDS = "cat dog bird fish train bus car plane apple bread cheese wine red green blue river".split()  # noqa: SIM905 - read as a line
CHANGES = ["added", "updated", "removed", "unchanged", "wordless", "rejected", "revision"]
GOOD = '{"id": "good", "text": "cat dog"}\n'


@dataclass(frozen=True)
class Answer:
    """What one run of the program did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return the one object on standard output, which holds nothing else."""
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Return the objects on standard output, one a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def sentence(self) -> str:
        """Return the one sentence on standard error."""
        assert self.err.endswith("\n")
        assert self.err.count("\n") == 1
        assert self.err.startswith("moverank: ")
        return self.err.removeprefix("moverank: ").rstrip("\n")


Call = Callable[..., Answer]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Runs `moverank` with arguments, in this process but through the same door as the installed command."""
    monkeypatch.delenv("MOVERANK_INDEX", raising=False)

    def run(*arguments: str | Path, stdin: bytes = b"") -> Answer:
        monkeypatch.setattr(sys, "argv", ["moverank", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Answer(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A word2vec text file: words on a spiral, so that neighbours in the list are near."""
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    rows = [f"{word} {i % 5}.5 {i * 0.25} {i % 3} 1" for i, word in enumerate(WORDS)]
    path.write_text(f"{len(rows)} 4\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    path = tmp_path / "documents.jsonl"
    records = [
        {
            "id": f"d{i}",
            "title": f"{WORDS[i].title()} story",
            "text": f"{WORDS[i]} {WORDS[i * 3 % 16]} {WORDS[(i * 5 + 2) % 16]}",
            "label": "even" if i % 2 == 0 else "odd",
            "year": 2000 + i,
        }
        for i in range(10)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def collection(call: Call, documents: Path, vectors: Path, tmp_path: Path) -> Path:
    place = tmp_path / "collection"
    assert call("index", documents, "-i", place, "--embedding", vectors).code == 0
    return place


# ---- what every command answers


def test_index_answers_with_what_it_did(call: Call, documents: Path, vectors: Path, tmp_path: Path) -> None:
    place = tmp_path / "new"
    first = call("index", documents, "-i", place, "--embedding", vectors, "--json")
    assert list(first.json) == CHANGES
    assert (first.code, first.err) == (0, "")
    assert first.json["added"] == 10
    again = call("index", documents, "-i", place, "--json")
    assert again.json == dict.fromkeys(CHANGES, 0) | {"unchanged": 10, "revision": first.json["revision"]}


def test_index_for_people_is_one_line(call: Call, documents: Path, collection: Path) -> None:
    answer = call("index", documents, "-i", collection)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("10 unchanged (")
    assert answer.out.count("\n") == 1


def test_prune_removes_what_is_gone(call: Call, documents: Path, collection: Path) -> None:
    documents.write_text("".join(documents.read_text().splitlines(keepends=True)[:4]))
    answer = call("index", documents, "-i", collection, "--prune", "--json")
    assert (answer.json["removed"], answer.json["unchanged"]) == (6, 4)


def test_threads_have_the_gamma_of_the_paper(call: Call, vectors: Path, tmp_path: Path) -> None:
    file = tmp_path / "threads.jsonl"
    file.write_text('{"id": "t", "title": "cat", "comments": [{"text": "dog", "rank": 1}]}\n')
    answer = call("threads", file, "-i", tmp_path / "forum", "--embedding", vectors, "--json")
    assert list(answer.json) == CHANGES
    assert answer.json["added"] == 1
    assert call("info", "-i", tmp_path / "forum", "--json").json["gamma"] == 0.75


SEARCHES: list[tuple[str, ...]] = [
    ("search", "cat and dog"),
    ("similar", "d1"),
    ("search", "cat", "--exact"),
    ("search", "cat", "--depth", "3", "-k", "3"),
    ("search", "cat", "--distance", "wmd"),
    ("search", "cat", "--distance", "pwmd", "--gamma", "0.5"),
    ("search", "cat", "--distance", "rwmd"),
    ("search", "cat", "--distance", "wcd"),
    ("search", "cat", "--where", "label=even"),
    ("search", "cat", "-k", "1000"),
    ("search", "cat", "--explain"),
]


@pytest.mark.parametrize("arguments", SEARCHES)
def test_search_and_similar_have_the_keys_of_the_contract(
    call: Call, collection: Path, arguments: tuple[str, ...]
) -> None:
    answer = call(*arguments, "-i", collection, "--json")
    assert (answer.code, answer.err) == (0, "")
    told = answer.json
    assert {"hits", "certified", "scope", "counts", "seconds"} <= set(told)
    assert set(told["counts"]) == {"candidates", "rwmd", "dual", "sinkhorn", "solved"}
    assert isinstance(told["certified"], bool)
    assert told["scope"] in ("collection", "candidates")
    assert told["hits"]
    assert [hit["rank"] for hit in told["hits"]] == list(range(1, len(told["hits"]) + 1))
    assert [hit["distance"] for hit in told["hits"]] == sorted(hit["distance"] for hit in told["hits"])
    for hit in told["hits"]:
        assert {"rank", "key", "title", "distance", "score"} <= set(hit)
        assert all(set(flow) == {"source", "target", "mass", "cost", "share"} for flow in hit.get("flows", []))


@pytest.mark.parametrize("scorer", ["bow", "tfidf:norm=l2", "bm25", "pl2", "translation", "interpolation"])
def test_a_scorer_is_selected_where_a_distance_is(call: Call, collection: Path, scorer: str) -> None:
    for arguments in (("search", "cat and dog"), ("similar", "d1")):
        told = call(*arguments, "--distance", scorer, "-i", collection, "--json").json
        scores = [hit["score"] for hit in told["hits"]]
        assert scores
        assert scores == sorted(scores, reverse=True)
        assert {hit["distance"] is None for hit in told["hits"]} == {scorer not in ("bow", "tfidf:norm=l2")}
        shown = call(*arguments, "--distance", scorer, "-i", collection)
        assert (shown.code, shown.err) == (0, "")
        assert "Certified" in shown.out


def test_a_blend_shows_both_parts(call: Call, collection: Path) -> None:
    told = call("search", "cat and dog", "--blend", "bm25=0.4", "-i", collection, "--json").json
    assert all(hit["parts"].keys() == {"wmd", "bm25"} for hit in told["hits"])
    shown = call("search", "cat and dog", "--blend", "bm25", "-i", collection, "-k", "1").out
    assert "wmd " in shown
    assert "bm25 " in shown
    assert "a joint order" in shown


def test_nothing_found_by_words_says_so(call: Call, collection: Path) -> None:
    assert "Nothing found" in call("search", "nowhereatall", "--distance", "bm25", "-i", collection).out


def test_explain_of_a_search_names_every_flow(call: Call, collection: Path) -> None:
    hit = call("search", "cat dog", "-i", collection, "-k", "1", "--explain", "--json").json["hits"][0]
    assert sum(flow["mass"] * flow["cost"] for flow in hit["flows"]) == pytest.approx(hit["distance"])


def test_similar_leaves_the_document_itself_out(call: Call, collection: Path) -> None:
    told = call("similar", "d1", "-i", collection, "-k", "100", "--json").json
    assert len(told["hits"]) == 9
    assert "d1" not in [hit["key"] for hit in told["hits"]]


def test_explain_has_the_keys_of_the_contract(call: Call, collection: Path) -> None:
    told = call("explain", "cat dog", "d1", "-i", collection, "--json").json
    assert {"distance", "flows"} <= set(told)
    assert all(set(flow) == {"source", "target", "mass", "cost", "share"} for flow in told["flows"])
    assert sum(flow["mass"] * flow["cost"] for flow in told["flows"]) == pytest.approx(told["distance"])


def test_explain_draws_a_page(call: Call, collection: Path, tmp_path: Path) -> None:
    answer = call("explain", "cat", "d1", "-i", collection, "--html", tmp_path / "why.html", "--json")
    assert "distance" in answer.json
    assert (tmp_path / "why.html").read_text().startswith("<!DOCTYPE html>")


def test_remove_answers_as_index_does(call: Call, collection: Path) -> None:
    answer = call("remove", "d1", "d2", "d1", "-i", collection, "--json")
    assert list(answer.json) == CHANGES
    assert (answer.code, answer.err, answer.json["removed"]) == (0, "", 2)
    assert call("info", "-i", collection, "--json").json["documents"] == 8


def test_info_has_sizes_settings_and_revision(call: Call, collection: Path, vectors: Path) -> None:
    told = call("info", "-i", collection, "--json").json
    assert {"documents", "words", "dim", "revision", "embedding", "weights", "gamma", "faiss"} <= set(told)
    assert (told["documents"], told["dim"], told["embedding"]) == (10, 4, str(vectors))
    rows = call("info", "-i", collection).out.splitlines()
    assert rows[0].split() == ["documents", "10"]


def test_hits_for_people_can_be_read_at_a_glance(call: Call, collection: Path) -> None:
    answer = call("search", "cat", "-i", collection, "-k", "1")
    rank, distance, *title = answer.out.splitlines()[0].split()
    assert (rank, title) == ("1", ["Cat", "story", "[even]"])
    assert float(distance) >= 0
    assert answer.out.splitlines()[-1].startswith("Certified: no other document is nearer.")
    assert answer.err == ""


def test_where_takes_one_of_several_values_and_all_of_several_fields(call: Call, collection: Path) -> None:
    def keys(*conditions: str) -> set[str]:
        options = [word for condition in conditions for word in ("--where", condition)]
        hits = call("search", "cat", "-i", collection, *options, "--json").json["hits"]
        return {hit["key"] for hit in hits}

    assert keys("label=odd") == {"d1", "d3", "d5", "d7", "d9"}
    assert keys("year=2003", "year=2004") == {"d3", "d4"}
    assert keys("label=odd", "year=2003", "year=2004") == {"d3"}
    assert keys("label=none") == set()


def test_a_filter_that_nothing_passes_is_told(call: Call, collection: Path) -> None:
    answer = call("search", "cat", "-i", collection, "--where", "label=none")
    assert answer.code == 0
    assert answer.out.startswith("No document to compare")


def test_a_batch_answers_one_object_a_line(call: Call, collection: Path, tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text('{"id": "a", "text": "cat"}\n{"id": "b", "text": "zebra"}\n{"id": "c", "text": "dog"}\n')
    answer = call("search", "--queries", file, "-i", collection, "--json")
    assert answer.code == 1
    assert [told["query"] for told in answer.lines] == ["a", "b", "c"]
    assert ["hits" in told for told in answer.lines] == [True, False, True]
    assert "zebra" in answer.lines[1]["error"]
    assert answer.sentence.startswith("b: the query 'zebra' has no word")


def test_queries_from_standard_input(call: Call, collection: Path) -> None:
    answer = call("search", "--queries", "-", "-i", collection, "--json", "-k", "1", stdin=b"cat\n\ndog\n")
    assert [told["query"] for told in answer.lines] == ["1", "3"]


def test_several_similar_answer_one_object_a_line(call: Call, collection: Path) -> None:
    answer = call("similar", "d1", "nowhere", "d2", "-i", collection, "--json")
    assert answer.code == 1
    assert [told["query"] for told in answer.lines] == ["d1", "nowhere", "d2"]
    assert "nowhere" in answer.sentence


def test_queries_are_named_for_people_too(call: Call, collection: Path) -> None:
    out = call("search", "--queries", "-", "-i", collection, "-k", "1", stdin=b"cat \x1b[31mred\n").out
    assert out.startswith("1: cat  [31mred\n")


def test_documents_from_standard_input(call: Call, vectors: Path, tmp_path: Path) -> None:
    options = ("index", "-", "-i", tmp_path / "new", "--embedding", vectors, "--json")
    assert call(*options, stdin=b"cat dog\ntrain bus\n").json["added"] == 2
    assert call(*options, stdin=gzip.compress(GOOD.encode())).json["added"] == 1


def test_the_environment_names_the_collection(
    call: Call, collection: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MOVERANK_INDEX", str(collection))
    assert call("info", "--json").json["documents"] == 10
    assert "nowhere" in call("info", "-i", tmp_path / "nowhere").sentence


def test_moverank_index_is_the_place_where_nothing_is_named(
    call: Call, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = call("index", documents, "--json")
    assert answer.json["added"] == 10
    assert "no word vectors were named, so they were trained on these texts by lsi" in answer.sentence
    assert (tmp_path / "moverank.index").is_dir()


def test_output_that_cannot_spell_a_title_escapes_it(
    call: Call, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "more.jsonl"
    file.write_text(json.dumps({"id": "é", "title": "日本 \x1b[31m", "text": "cat"}) + "\n")
    call("index", file, "-i", collection)

    def written(*more: str) -> bytes:
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
        assert call("search", "cat", "-i", collection, "-k", "1", *more).code == 0
        return raw.getvalue()

    assert json.loads(written("--json"))["hits"][0]["title"] == "日本 \x1b[31m"
    assert b"\\u65e5\\u672c  [31m" in written()


# ---- help


@pytest.mark.parametrize(
    "command", [[], ["index"], ["threads"], ["search"], ["similar"], ["explain"], ["remove"], ["info"], ["demo"]]
)
def test_every_command_has_help_with_an_example(command: list[str]) -> None:
    result = CliRunner().invoke(cli.app, [*command, "--help"])
    assert result.exit_code == 0
    assert ("Example" in result.output) == bool(command)


def test_the_version_is_told(call: Call) -> None:
    answer = call("--version")
    assert answer.code == 0
    assert answer.out == f"moverank {importlib.metadata.version('moverank')}\n"


def test_without_a_command_the_help_is_shown(call: Call) -> None:
    answer = call()
    assert answer.code == 2
    assert "Usage:" in answer.out
    assert answer.err == ""


def test_help_imports_nothing_heavy() -> None:
    probe = (
        "import sys\nfrom moverank import cli\nsys.argv = ['moverank', '--help']\ntry:\n    cli.main()\nexcept SystemExit: pass\n"
        "heavy = {'faiss', 'ot', 'gensim', 'numpy', 'sqlalchemy', 'scipy', 'numba', 'alembic', 'moverank.indexer', 'moverank.rerank'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", probe],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ},
    )
    assert done.stderr.strip() == "[]"


# ---- bad records: rejected one by one, and the good ones beside them indexed

BAD_RECORDS: list[tuple[str, bytes, str]] = [
    ("cut.jsonl", b'{"id": "bad", "text": \n', "cut.jsonl:2: broken JSON at column 22"),
    ("no_text.jsonl", b'{"id": "bad"}\n', "no_text.jsonl:2: there is no field for the text"),
    ("type.jsonl", b'{"id": "bad", "text": 5}\n', "type.jsonl:2: 'text' must be a string, not 5"),
    ("list.jsonl", b"[1, 2]\n", "list.jsonl:2: a record must be a JSON object"),
    ("empty_text.jsonl", b'{"id": "bad", "text": " "}\n', "empty_text.jsonl:2: there is no text"),
    ("twice.jsonl", GOOD.encode(), "twice.jsonl:2: the key 'good' is already taken"),
    ("key.jsonl", b'{"id": null, "text": "cat"}\n', "key.jsonl:2: the key 'id' must be a string or an integer"),
    ("no_key.jsonl", b'{"id": "", "text": "cat"}\n', "no_key.jsonl:2: the key is empty"),
    ("latin.jsonl", b'{"id": "bad", "text": "caf\xe9"}\n', "latin.jsonl:2: byte 27 of the line is not UTF-8"),
    ("surrogate.jsonl", b'{"id": "bad", "text": "\\ud800"}\n', "surrogate.jsonl:2: it holds \\ud800, half of"),
    ("nul.jsonl", b'{"id": "bad", "text": "a\\u0000"}\n', "nul.jsonl:2: it holds a NUL character"),
    ("nan.jsonl", b'{"id": "bad", "text": "a", "year": NaN}\n', "nan.jsonl:2: NaN is not JSON"),
    ("deep.jsonl", b'{"id": ' + b"[" * 100_000 + b"\n", "deep.jsonl:2: "),
    ("escape.jsonl", b"\x1b[31mnot JSON\n", "escape.jsonl:2: broken JSON at column 1"),
]


@pytest.mark.parametrize(("name", "bad", "said"), BAD_RECORDS, ids=[name for name, _, _ in BAD_RECORDS])
def test_a_bad_record_is_rejected_and_the_good_one_indexed(
    call: Call, vectors: Path, tmp_path: Path, name: str, bad: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(GOOD.encode() + bad)
    answer = call("index", tmp_path / name, "-i", tmp_path / "new", "--embedding", vectors, "--json")
    assert answer.code == 0
    assert (answer.json["added"], answer.json["rejected"]) == (1, 1)
    assert said in answer.sentence
    assert "\x1b" not in answer.err
    assert call("search", "cat", "-i", tmp_path / "new", "--json").json["hits"][0]["key"] == "good"


BAD_FILES: list[tuple[str, bytes, str]] = [
    ("row.csv", b"id,text\ngood,cat\nbad\n", "row.csv:3: the row has 1 fields, the header 2"),
    ("quote.csv", b'id,text\ngood,cat\nbad,"dog\n', "quote.csv:3: broken CSV: a quotation mark opens here"),
    ("cut.jsonl.gz", gzip.compress(GOOD.encode())[:-4], "cut.jsonl.gz:1: from here on the gzip data are damaged"),
    ("lines.tsv", b"id\ttext\ngood\tcat\nbad\tdog\tbird\n", "lines.tsv:3: the row has 3 fields, the header 2"),
]


@pytest.mark.parametrize(("name", "content", "said"), BAD_FILES, ids=[name for name, _, _ in BAD_FILES])
def test_what_is_good_in_a_bad_file_is_indexed(
    call: Call, vectors: Path, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    answer = call("index", tmp_path / name, "-i", tmp_path / "new", "--embedding", vectors, "--json")
    assert answer.code == 0
    assert (answer.json["added"], answer.json["rejected"]) == (1, 1)
    assert said in answer.sentence


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("picture.png", b"\x89PNG\0\0", "picture.png: it holds NUL bytes, so it is no text"),
        ("wide.txt", "cat".encode("utf-16"), "wide.txt: it is UTF-16 or UTF-32: convert it"),
        ("latin.txt", b"caf\xe9", "latin.txt: byte 4 of the file, in line 1, is not UTF-8"),
        ("empty.txt", b"", "empty.txt: there is no text"),
        ("plain.jsonl.gz", GOOD.encode(), "plain.jsonl.gz: from here on the gzip data are damaged"),
        ("header.csv", b"id,id\n1,2\n", "header.csv:1: the header names 'id' twice"),
    ],
)
def test_a_source_without_any_document_fails(
    call: Call, collection: Path, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    answer = call("index", tmp_path / name, "-i", collection, "--json")
    assert answer.code == 1
    assert (answer.json["added"], answer.json["rejected"]) == (0, 1)
    assert said in answer.sentence
    assert call("info", "-i", collection, "--json").json["documents"] == 10


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"comments": "x"}, "'comments' must be a list"),
        ({"comments": [{"txt": "x"}]}, "comment 1 has no field 'text'"),
        ({"comments": [{"text": "x", "rank": -1}]}, "the rank of comment 1 must be a whole number"),
        ({"text": "x"}, "there is no field 'comments'"),
    ],
)
def test_a_bad_thread_is_rejected(
    call: Call, vectors: Path, tmp_path: Path, record: dict[str, object], said: str
) -> None:
    file = tmp_path / "threads.jsonl"
    good = {"id": "good", "title": "cat", "comments": []}
    file.write_text(json.dumps(good) + "\n" + json.dumps({"id": "bad"} | record) + "\n")
    answer = call("threads", file, "-i", tmp_path / "new", "--embedding", vectors, "--json")
    assert (answer.code, answer.json["added"], answer.json["rejected"]) == (0, 1, 1)
    assert f"threads.jsonl:2: {said}" in answer.sentence


def test_a_strict_run_stops_and_writes_nothing(call: Call, collection: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text(GOOD + "{\n")
    answer = call("index", tmp_path / "bad.jsonl", "-i", collection, "--strict", "--json")
    assert (answer.code, answer.out) == (1, "")
    assert "bad.jsonl:2: broken JSON" in answer.sentence
    assert answer.sentence.endswith("nothing was written: the run is strict")
    assert call("info", "-i", collection, "--json").json["documents"] == 10


def test_nothing_is_pruned_where_a_record_was_rejected(call: Call, collection: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text(GOOD + "{\n")
    answer = call("index", tmp_path / "bad.jsonl", "-i", collection, "--prune")
    assert answer.code != 0
    assert "nothing was pruned" in answer.err
    assert call("info", "-i", collection, "--json").json["documents"] == 11


def test_a_source_without_records_is_told(call: Call, collection: Path) -> None:
    answer = call("index", "-", "-i", collection)
    assert answer.code == 0
    assert answer.out.startswith("no document found (")


# ---- bad calls: nothing is done

BAD_VECTORS: list[tuple[str, bytes, str]] = [
    ("empty.txt", b"", "empty.txt is empty: it holds no word vectors"),
    ("prose.txt", b"hello dear world\n", "prose.txt is no file of word vectors"),
    ("nan.txt", b"2 2\ncat 1 2\ndog nan 1\n", "nan.txt, line 3 ('dog'): a number is not finite"),
    ("ragged.txt", b"2 2\ncat 1 2\ndog 1\n", "ragged.txt, line 3 has 1 numbers, not 2"),
    ("twice.txt", b"2 2\ncat 1 2\ncat 3 4\n", "twice.txt has the word 'cat' twice, in line 2 and line 3"),
    ("short.txt", b"3 2\ncat 1 2\ndog 3 4\n", "short.txt ends after 2 words, but its header promises 3"),
    ("cut.bin", b"2 4\ncat 0123", "cut.bin, line 1 promises 2 words of 4 numbers, at least 36 bytes"),
    ("model.kv", b"\x80\x04.", "model.kv is a pickle, as gensim writes, and can run any code: give --trust-pickle"),
    ("vectors.zip", b"PK\x03\x04", "vectors.zip is a zip archive: unpack it"),
]


@pytest.mark.parametrize(("name", "content", "said"), BAD_VECTORS, ids=[name for name, _, _ in BAD_VECTORS])
def test_bad_vectors_leave_nothing_behind(
    call: Call, documents: Path, tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    answer = call("index", documents, "-i", tmp_path / "new", "--embedding", tmp_path / name, "--json")
    assert (answer.code, answer.out) == (1, "")
    assert said in answer.sentence
    assert not (tmp_path / "new").exists()


# Where {new} stands is a collection to be made, {old} one that is there, {docs} documents, {vec} vectors.
BAD_CALLS: list[tuple[str, int, str]] = [
    ("index nowhere.jsonl -i {new}", 1, "nowhere.jsonl: there is no such file or directory"),
    ("index nowhere*.txt -i {new}", 1, "nowhere*.txt: no file matches this pattern"),
    ("index {empty} -i {new}", 1, "there is no file in this directory"),
    ("index - - -i {new}", 2, "- (standard input) is named twice"),
    ("index {docs} -i {new} --format nope", 2, "there is no format 'nope': choose one of text, lines"),
    ("index {docs} -i {new} --embedding nowhere.txt", 1, "nowhere.txt cannot be read: No such file"),
    ("index {docs} -i {new} --embedding lsi --train-option dim=x", 2, "'dim=x': dim must be a whole number"),
    ("index {docs} -i {new} --embedding {vec} --train-option dim=3", 2, "options of training need --embedding train"),
    ("index {docs} -i {new} --gamma inf", 2, "gamma must be a number of 0 or more, not inf"),
    ("index {docs} -i {new} --gamma -1", 2, "invalid value for '--gamma'"),
    ("index {docs} -i {new} --weights bm25", 2, "'bm25' is not one of 'tf', 'tfidf'"),
    ("index {docs} -i {new} --stop-words nowhere.txt", 1, "nowhere.txt: the stop words cannot be read"),
    ("index {docs} -i {docs}", 1, "cannot be made: File exists"),
    ("index {docs} -i {full}", 1, "holds mine.txt and no collection: choose another place"),
    ("index {docs} -i {old} --embedding lsi", 2, "the collection was made with another embedding"),
    ("index {docs} -i {old} --stop-words none", 2, "the collection was made with another stop words (329 words)"),
    ("index {docs} -i {old} --title-weight 3", 2, "the collection was made with another title weight (1)"),
    ("index {docs} -i {new} --title-weight 0", 2, "invalid value for '--title-weight'"),
    ("index", 2, "missing argument 'paths'"),
    ("search cat -i {new}", 1, "there is no collection in "),
    ("info -i {new}", 1, "make one with `moverank index PATH -i "),
    ("search -i {old}", 2, "give either a query or --queries FILE"),
    ("search cat --queries nowhere.txt -i {old}", 2, "give either a query or --queries FILE"),
    ("search --queries nowhere.txt -i {old}", 1, "nowhere.txt: cannot be read: No such file or directory"),
    ("search zebra -i {old}", 1, "the query 'zebra' has no word that the collection has a vector for"),
    ("search the -i {old}", 1, "all of its words are stop words"),
    ("search '' -i {old}", 1, "it is empty"),
    ("search cat -i {old} -k 0", 2, "invalid value for '-k'"),
    ("search cat -i {old} --budget 0", 2, "the budget must be a number of seconds above 0, not 0"),
    ("explain cat nobody -i {old} --why-not", 1, "the collection has no document with the key 'nobody'"),
    ("search cat -i {old} --depth 5", 2, "depth must be at least k, which is 10, not 5"),
    ("search cat -i {old} --distance nope", 2, "there is no distance 'nope': choose one of wmd, pwmd, rwmd, wcd, bow"),
    ("search cat -i {old} --distance bm25:k9=1", 2, "bm25 has no option 'k9'"),
    ("search cat -i {old} --blend bm25=2", 2, "the share of bm25 in a blend is a number from 0 to 1, not '2'"),
    ("search cat -i {old} --distance wmd --gamma 1", 2, "wmd weighs all parts alike"),
    ("search cat -i {old} --where label", 2, "--where 'label' is not of the form FIELD=VALUE"),
    ("search cat -i {old} --where =x", 2, "--where '=x' is not of the form FIELD=VALUE"),
    ("search cat -i {old} --where nope=1", 2, "no document has a field 'nope': the fields are label, year"),
    ("search cat dog -i {old}", 2, "unexpected extra argument"),
    ("search cat --nope", 2, "no such option: --nope"),
    ("similar nowhere -i {old}", 1, "no document with the key 'nowhere'"),
    ("explain cat nowhere -i {old}", 1, "no document with the key 'nowhere'"),
    ("explain cat d1 -i {old} --html {empty}", 1, "cannot be written: Is a directory"),
    ("remove d1 nowhere -i {old}", 1, "nothing was removed: no document has the key 'nowhere'"),
    ("nope", 2, "no such command 'nope'"),
]


@pytest.mark.parametrize(("line", "code", "said"), BAD_CALLS, ids=[line for line, _, _ in BAD_CALLS])
def test_a_bad_call_is_one_sentence_and_changes_nothing(
    call: Call, collection: Path, documents: Path, vectors: Path, tmp_path: Path, line: str, code: int, said: str
) -> None:
    full, empty = tmp_path / "full", tmp_path / "empty"
    full.mkdir()
    (full / "mine.txt").write_text("cat")
    empty.mkdir()
    places = {"new": tmp_path / "new", "old": collection, "docs": documents, "vec": vectors}
    arguments = [word.strip("'").format(full=full, empty=empty, **places) for word in line.split()]
    before = call("info", "-i", collection, "--json").json
    answer = call(*arguments)
    assert (answer.code, answer.out) == (code, "")
    assert said in answer.sentence
    assert not (tmp_path / "new").exists()
    assert [file.name for file in full.iterdir()] == ["mine.txt"]
    assert call("info", "-i", collection, "--json").json == before


def test_a_wrong_factory_string_is_refused_before_anything_is_made(
    call: Call, documents: Path, vectors: Path, tmp_path: Path
) -> None:
    answer = call("index", documents, "-i", tmp_path / "new", "--embedding", vectors, "--faiss", "Nope")
    assert (answer.code, answer.out) == (2, "")
    assert "'Nope'" in answer.sentence
    assert not (tmp_path / "new").exists()


def test_a_bad_line_stops_a_batch_before_its_first_answer(call: Call, collection: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text('{"text": "cat"}\n{"text": \n')
    answer = call("search", "--queries", tmp_path / "queries.jsonl", "-i", collection, "--json")
    assert (answer.code, answer.out) == (1, "")
    assert "queries.jsonl:2: broken JSON at column" in answer.sentence


def test_a_key_that_is_not_utf8_is_told(call: Call, collection: Path) -> None:
    answer = call("similar", "caf\udce9", "-i", collection, "--json")
    assert answer.code == 2
    assert "is not UTF-8" in answer.sentence


def test_a_file_that_is_no_database_is_told(call: Call, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "collection.db").write_bytes(b"no database at all" * 99)
    answer = call("info", "-i", tmp_path / "old")
    assert answer.code == 1
    assert "the database is damaged or not one of ours" in answer.sentence


def test_only_one_process_writes(call: Call, collection: Path, documents: Path) -> None:
    with FileLock(collection / "lock"):
        documents.write_text(GOOD)
        answer = call("index", documents, "-i", collection)
        assert call("search", "cat", "-i", collection, "--json").code == 0
    assert answer.code == 1
    assert "another process is writing to" in answer.sentence


def test_who_waits_is_told_for_whom(call: Call, collection: Path) -> None:
    with FileLock(collection / "lock"):
        answer = call("remove", "mat", "-i", collection, "--wait", "0.1")
    assert answer.code == 1
    assert answer.err.startswith("moverank: waiting for another process\nmoverank: another process is writing to")
    assert call("refit", "-i", collection, "--wait").code == 0


def test_check_and_backup(call: Call, collection: Path, tmp_path: Path) -> None:
    answer = call("check", "-i", collection, "--json")
    assert (answer.code, answer.json) == (0, {"ok": True, "problems": []})
    assert call("check", "-i", collection, "--repair").out == "nothing is wrong\n"
    answer = call("backup", tmp_path / "copy", "-i", collection, "--json")
    assert (answer.code, answer.json) == (0, {"directory": str(tmp_path / "copy"), "revision": 1})
    assert call("backup", tmp_path / "other", "-i", collection).out == f"revision 1 is in {tmp_path / 'other'}\n"
    vectors = tmp_path / "copy" / "vectors" / "vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-1] + b"x")
    answer = call("check", "-i", tmp_path / "copy", "--json")
    assert answer.code == 1
    assert answer.json["ok"] is False
    assert "vectors.npy is damaged" in answer.json["problems"][0]
    answer = call("check", "-i", tmp_path / "copy")
    assert (answer.code, answer.out.count("\n")) == (1, 1)
    assert call("check", "--repair", "-i", tmp_path / "copy").out == "nothing is wrong\n"


def test_damage_is_told_and_the_answer_is_right(call: Call, collection: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 0)
    call("refit", "-i", collection)
    [weights] = collection.glob("snapshot-*/weights")
    before = call("search", "cat", "-i", collection, "--json").json["hits"]
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    answer = call("search", "cat", "-i", collection, "--json")
    assert answer.json["hits"] == before
    assert answer.sentence.endswith(
        "weights has another checksum than it was written with: the snapshot is made again from the database"
    )


def test_a_file_error_nobody_foresaw_is_one_sentence(
    call: Call, collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "disk")

    monkeypatch.setattr("moverank.indexer.formatters.output.print_object", full)
    answer = call("info", "-i", collection, "--json")
    assert (answer.code, answer.sentence) == (1, "disk: No space left on device")


def test_a_fault_of_the_program_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(cli, "app", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main()


@pytest.mark.parametrize("command", ["index", "info"])
def test_an_interrupted_run_is_one_sentence(
    call: Call, collection: Path, documents: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"moverank.indexer.collection.Collection.{command}", interrupted)
    answer = call(*([command, documents] if command == "index" else [command]), "-i", collection)
    assert (answer.code, answer.out) == (1, "")
    assert answer.sentence.startswith("interrupted")


# ---- the installed command, as a process of its own


def _process(*arguments: str | Path, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    environment = {**os.environ}
    command = [sys.executable, "-c", "from moverank.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, env=environment, check=False, timeout=120, **more)


def test_a_process_keeps_answers_and_notes_apart(collection: Path) -> None:
    done = _process("info", "-i", collection, "--json", capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["documents"] == 10
    failed = _process("info", "-i", collection / "nowhere", "--json", capture_output=True)
    assert (failed.returncode, failed.stdout) == (1, b"")
    assert failed.stderr.startswith(b"moverank: there is no collection in ")


def test_a_reader_that_has_seen_enough_is_no_failure_to_tell(collection: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as pipe:
        done = _process("info", "-i", collection, stdout=pipe, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_full_disk_is_one_sentence(collection: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = _process("info", "-i", collection, "--json", stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"moverank: No space left on device\n")


def test_the_parser_is_typer() -> None:
    """The tests call `main`, which asks Typer to raise instead of exiting."""
    assert isinstance(cli.app, typer.Typer)


# ---- experiments


@pytest.fixture
def judgments(tmp_path: Path) -> Path:
    path = tmp_path / "qrels.tsv"
    path.write_text("".join(f"d{i}\t0\td{(i + 3) % 10}\t1\n" for i in range(4)))
    return path


def test_evaluate_retrieval_prints_a_row_for_each_method(call: Call, collection: Path, judgments: Path) -> None:
    arguments = ("evaluate", "retrieval", "-i", collection, "--qrels", judgments, "--method", "wmd", "--method", "bm25")
    told = call(*arguments, "--json").json
    assert [row["method"] for row in told["rows"]] == ["wmd", "bm25"]
    assert 0 < told["rows"][0]["map"] <= 1
    assert (told["table"], told["queries"], told["reference"]) == ("retrieval", 4, "wmd")
    shown = call(*arguments, "--measure", "map")
    assert shown.code == 0
    assert shown.out.startswith("method")
    assert "documents 10, queries 4" in shown.out


def test_evaluate_writes_the_rows_to_a_file(call: Call, collection: Path, judgments: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    arguments = ("evaluate", "retrieval", "-i", collection, "--qrels", judgments, "--method", "bow", "--measure", "mrr")
    assert call(*arguments, "--csv", file).code == 0
    head, row = file.read_text().splitlines()
    assert head == "method,mrr,p,hubness"
    assert row.startswith("bow,")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--method", "cosine"), 2, "there is no method 'cosine'"),
        (("--measure", "recall"), 1, "there is no measure 'recall'"),
        (("--reference", "bm25", "--method", "wmd"), 2, "the reference 'bm25' is none of the methods"),
        (("--queries", "nowhere.jsonl"), 1, "nowhere.jsonl"),
    ],
)
def test_evaluate_refuses_in_a_sentence(
    arguments: tuple[str, ...], code: int, said: str, call: Call, collection: Path, judgments: Path
) -> None:
    answer = call("evaluate", "retrieval", "-i", collection, "--qrels", judgments, *arguments)
    assert answer.code == code
    assert said in answer.sentence


def test_evaluate_knn_prints_errors(call: Call, collection: Path) -> None:
    told = call("evaluate", "knn", "-i", collection, "--method", "wcd", "--times", "2", "-k", "1", "--json").json
    assert (told["table"], told["labels"], told["splits"]) == ("knn", 2, 2)
    assert 0 <= told["rows"][0]["error"] <= 1


def test_evaluate_gamma_and_bounds_print_tables(call: Call, collection: Path, judgments: Path, documents: Path) -> None:
    told = call("evaluate", "gamma", "-i", collection, "--qrels", judgments, "--grid", "0,1", "--json").json
    assert told["rows"][-1]["method"] == "chosen"
    documents.write_text(documents.read_text() + "".join(f'{{"id": "e{i}", "text": "{WORDS[i]}"}}\n' for i in range(3)))
    assert call("index", documents, "-i", collection).code == 0
    bounds = call("evaluate", "bounds", "-i", collection, "--sample", "3", "--json").json
    assert [row["bound"] for row in bounds["rows"]][-1] == "wmd"
    assert call("evaluate", "bounds", "-i", collection, "--depths", "--json").json["rows"][-1]["recall"] == 1
