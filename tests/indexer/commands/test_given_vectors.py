"""Given vectors at the command line: with documents, as a matrix with keys, and with queries."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.indexer.commands.program import Answer, Call
from tests.indexer.given import random_vectors

MATRIX = random_vectors(10, dim=3)
QUERY = [0.5, -1.0, 2.0]
FIRST = int(np.argmax(MATRIX @ np.array(QUERY) / np.linalg.norm(MATRIX, axis=1)))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, in which files are named as a user names them."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def index(here: Path, call: Call, vectors: Path, documents: Path) -> Any:
    """Return a function that indexes ten documents with the rows of MATRIX, and more arguments."""
    np.save(here / "m.npy", MATRIX)
    (here / "keys.txt").write_text("".join(f"d{i}\n" for i in range(10)))

    def run(arguments: str, first_stage: str = "given") -> Answer:
        command = f"index {documents} -i x --embedding {vectors} --first-stage {first_stage} {arguments}"
        return call(*shlex.split(command))

    return run


def _keys(answer: Answer) -> list[str]:
    assert answer.code == 0, answer.err
    return [hit["key"] for hit in answer.json["hits"]]


def test_a_matrix_with_keys(index: Any, call: Call, here: Path) -> None:
    answer = index("--vectors m.npy --keys keys.txt")
    assert (answer.code, answer.err) == (0, "")
    again = index("--vectors m.npy --keys keys.txt --json")
    assert again.json["unchanged"] == 10
    info = call("info", "-i", "x", "--json").json
    assert (info["given_vectors"], info["given_dim"]) == (10, 3)
    np.save(here / "q.npy", np.array(QUERY))
    (here / "q.json").write_text(json.dumps(QUERY))
    for given in (json.dumps(QUERY), "q.npy", "q.json", json.dumps([QUERY])):
        options = ("-i", "x", "--depth", "1", "-k", "1", "--json", "--query-vector", given)
        assert _keys(call("search", "cat dog", *options)) == [f"d{FIRST}"]
    stdin = call("search", "cat dog", *options[:-1], "-", stdin=json.dumps(QUERY).encode())
    assert _keys(stdin) == [f"d{FIRST}"]
    assert _keys(call("search", "cat dog", "-i", "x", "-k", "1", "--rank", "vector", *options[-3:])) == [f"d{FIRST}"]
    why = call("explain", "cat dog", "d1", "-i", "x", "--why-not", "--depth", "1", "-k", "1", *options[-3:])
    assert why.json["why_not"]["stage"] == ("hit" if FIRST == 1 else "first stage")
    assert (
        call("explain", "cat dog", "d1", "-i", "x", "--rank", "wmd+vector", *options[-3:]).json["parts"]["vector"] > 0
    )


def test_keys_are_those_of_the_records_without_a_prefix(index: Any, call: Call) -> None:
    assert index("--vectors m.npy --keys keys.txt --prefix news").code == 0
    assert call("show", "news/d3", "-i", "x", "--json").json["vector"] == pytest.approx(MATRIX[3].tolist())
    assert "  vector    3 numbers\n" in call("show", "news/d3", "-i", "x").out


def test_records_with_a_vector(here: Path, call: Call, vectors: Path) -> None:
    records = [
        {"id": "a", "text": "cat", "vector": [1, 0.5], "year": 1},
        {"id": "b", "title": "Dog", "body": "dog", "comments": [{"text": "train"}], "vector": [0, 1]},
        {"id": "c", "text": "bus", "vector": None},
        {"id": "e1", "text": "bus", "vector": "north"},
        {"id": "e2", "text": "bus", "vector": [1, "x"]},
        {"id": "e3", "text": "bus", "vector": [1, True]},
        {"id": "e4", "text": "bus", "vector": [1, 2, 3]},
        {"id": "e5", "text": "bus", "vector": []},
        {"id": "e6", "text": "bus", "vector": [1, 10**400]},
        {"id": "e7", "text": "bus", "vector": [1, 1e30]},
    ]
    (here / "d.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    answer = call("index", "d.jsonl", "-i", "x", "--embedding", vectors, "--first-stage", "given", "--json")
    assert answer.json["rejected"] == 7
    assert (
        answer.err.splitlines()
        == [
            "moverank: d.jsonl:4: 'vector' must be a list of numbers, not \"north\"",
            "moverank: d.jsonl:5: number 2 of 'vector' must be a number, not \"x\"",
            "moverank: d.jsonl:6: number 2 of 'vector' must be a number, not true",
            "moverank: d.jsonl:7: the vector of document 'e4' has 3 numbers, those of the collection have 2: all need "
            "the same (vectors of another encoder: index all documents without vectors first)",
            "moverank: d.jsonl:8: the vector of document 'e5' is empty: it needs at least one number",
            "moverank: d.jsonl:9: 'vector' has a number that is too large",
            "moverank: d.jsonl:10: the vector of document 'e7' has 1.0000000150474662e+30 at position 2: its "
            "numbers must be finite, at most 1e+15",
            "moverank: 2 of 3 documents have no vector: they are no candidates of a search with --depth; a search of "
            "all documents, and a scorer, find them",
        ][: len(answer.err.splitlines())]
        or answer.err
    )
    assert call("show", "a", "-i", "x", "--json").json["metadata"] == {"year": 1}
    threads = call("threads", "d.jsonl", "-i", "y", "--embedding", vectors, "--first-stage", "given", "--json")
    assert (threads.code, threads.json["rejected"]) == (1, 9)
    shown = call("show", "b", "-i", "y", "--json").json
    assert (shown["vector"], shown["metadata"]) == ([0, 1], {})
    exported = call("export", "-i", "x")
    (here / "e.jsonl").write_text(exported.out)
    assert call("index", "e.jsonl", "-i", "z", "--embedding", vectors, "--json").json["added"] == 3
    assert call("show", "a", "-i", "z", "--json").json["vector"] == [1, 0.5]


def test_a_table_has_a_vector_as_a_list(here: Path, call: Call, vectors: Path) -> None:
    (here / "d.csv").write_text('id,text,Vector\na,cat,"[1, 0.5]"\nb,dog,north\nc,bus,\ne,bus,"[1,"\n')
    answer = call("index", "d.csv", "-i", "x", "--embedding", vectors, "--json")
    assert answer.json["added"] == 3
    assert "d.csv:5: the column 'Vector' is no list of numbers in JSON: [1,\n" in answer.err
    assert "the vectors of 1 documents are stored, but not used: --first-stage given searches by them" in answer.err
    assert call("show", "a", "-i", "x", "--json").json["vector"] == [1, 0.5]
    assert call("show", "b", "-i", "x", "--json").json["metadata"] == {"Vector": "north"}


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ("--vectors m.npy", 2, "--vectors needs --keys FILE, the key of each row"),
        ("--keys keys.txt", 2, "--keys needs --vectors FILE.npy, the rows of these keys"),
        ("--vectors nope.npy --keys keys.txt", 1, "nope.npy: cannot be read: No such file or directory"),
        ("--vectors keys.txt --keys keys.txt", 1, "keys.txt: is no .npy file of numbers, as numpy.save writes them"),
        ("--vectors objects.npy --keys keys.txt", 1, "objects.npy: is no .npy file of numbers, as numpy.save writes"),
        ("--vectors cut.npy --keys keys.txt", 1, "cut.npy: is no .npy file of numbers, as numpy.save writes them"),
        ("--vectors z.npz --keys keys.txt", 1, "z.npz: must hold one array of numbers: write a float32 matrix"),
        ("--vectors words.npy --keys keys.txt", 1, "words.npy: must hold one array of numbers: write a float32 matrix"),
        ("--vectors flat.npy --keys keys.txt", 1, "flat.npy: must hold a matrix, a row for each key, not an array of"),
        ("--vectors m.npy --keys few.txt", 1, "few.txt: has 2 keys, but m.npy 10 rows: row i belongs to line i"),
        ("--vectors m.npy --keys twice.txt", 1, "twice.txt:2: the key 'd0' is on line 1, too: keys must be unique"),
        ("--vectors m.npy --keys blank.txt", 1, "blank.txt:2: is blank: the file needs one key on each line"),
        (
            "--vectors m.npy --keys keys.txt --setting first_stage_options=metric=dot",
            2,
            "the first stage: metric must be cosine",
        ),
        (
            "--vectors m.npy --keys keys.txt --setting first_stage_options=k=3",
            2,
            "the first stage: given has no option 'k'",
        ),
    ],
)
def test_bad_files_are_one_sentence(index: Any, here: Path, arguments: str, code: int, sentence: str) -> None:
    np.save(here / "objects.npy", np.array([{}], object), allow_pickle=True)
    np.savez(here / "z.npz", a=MATRIX)
    np.save(here / "words.npy", np.array(["a", "b"]))
    np.save(here / "flat.npy", np.ones(10))
    (here / "cut.npy").write_bytes((here / "m.npy").read_bytes()[:-5])
    (here / "few.txt").write_text("d0\nd1")
    (here / "twice.txt").write_text("d0\nd0\n")
    (here / "blank.txt").write_text("d0\n\nd1\n")
    answer = index(arguments)
    assert answer.code == code
    assert answer.sentence.startswith(sentence)
    assert not (here / "x").exists()


def test_keys_of_no_document_are_reported(index: Any, here: Path) -> None:
    (here / "keys.txt").write_text("".join(f"k{i}\n" for i in range(5)) + "".join(f"d{i}\n" for i in range(5)))
    answer = index("--vectors m.npy --keys keys.txt")
    assert answer.code == 0
    assert answer.err.splitlines() == [
        "moverank: 5 of 10 vectors have the key of no document of this run: 'k0', 'k1', 'k2', ...",
        "moverank: 5 of 10 documents have no vector: they are no candidates of a search with --depth; a search of all "
        "documents, and a scorer, find them",
    ]


def test_a_row_that_cannot_be_stored_rejects_its_document(index: Any, here: Path) -> None:
    matrix = MATRIX.astype(np.float64)
    matrix[4, 1] = np.nan
    matrix[6, 0] = 1e300
    np.save(here / "m.npy", matrix)
    answer = index("--vectors m.npy --keys keys.txt --json")
    assert (answer.json["added"], answer.json["rejected"]) == (8, 2)
    assert (
        "documents.jsonl:5: the vector of document 'd4' has nan at position 2: its numbers must be finite" in answer.err
    )
    assert "documents.jsonl:7: the vector of document 'd6' has inf at position 1" in answer.err


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (None, "the query has no vector, which the first stage `given` compares: give one (--query-vector"),
        ("[1, 2]", "the query's vector has 2 numbers, those of the documents have 3"),
        ("[1, 2, NaN]", "the query's vector has nan at position 3"),
        ("[1, 2, 1e999]", "the query's vector has inf at position 3"),
        ("[0, 0, 0]", "the query's vector is zero: it has no direction"),
        ("[[1, 2], [3, 4]]", "the query's vector must be a list of numbers, not an array of shape (2, 2)"),
        ("[1, 2", "--query-vector: is neither a JSON list of numbers nor a .npy file"),
        ("keys.txt", "keys.txt: is neither a JSON list of numbers nor a .npy file"),
        ("nope", "nope: cannot be read: No such file or directory"),
    ],
)
def test_a_bad_vector_of_a_query_is_one_sentence(index: Any, call: Call, given: str | None, sentence: str) -> None:
    index("--vectors m.npy --keys keys.txt")
    more = () if given is None else ("--query-vector", given)
    answer = call("search", "cat", "-i", "x", "--depth", "5", "-k", "1", *more)
    assert answer.code == (1 if given == "nope" else 2)
    assert answer.sentence.startswith(sentence)


def test_a_vector_without_effect_is_refused(index: Any, call: Call) -> None:
    index("", "centroid")
    answer = call("search", "cat", "-i", "x", "--query-vector", "[1]")
    assert (answer.code, answer.sentence) == (
        2,
        "the first stage is centroid, not given: a vector of the query has no effect there",
    )
    both = call("search", "--file", "-", "-i", "x", "--query-vector", "-")
    assert (both.code, both.sentence[:45]) == (2, "standard input is either the query or its vec")


def test_queries_with_vectors(index: Any, call: Call, here: Path) -> None:
    index("--vectors m.npy --keys keys.txt")
    lines = [
        {"id": "q1", "text": "cat dog", "vector": QUERY},
        {"id": "q2", "text": "cat dog"},
        {"id": "q3", "text": "cat dog", "vector": [1]},
        {"id": "q4", "text": "cat dog", "vector": 7},
        {"id": "q5", "title": "cat", "body": "dog", "comments": [], "vector": MATRIX[2].tolist()},
    ]
    (here / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = ("-i", "x", "--depth", "1", "-k", "1", "--rank", "wmd", "--json")
    answer = call("search", "--queries", "q.jsonl", *options)
    assert answer.code == 1
    found = {each["query"]: [hit["key"] for hit in each.get("hits", ())] for each in answer.lines}
    assert (found["q1"], found["q5"]) == ([f"d{FIRST}"], ["d2"])
    problems = {each["query"]: each.get("error", "") for each in answer.lines}
    assert "has no vector" in problems["q2"]
    assert "has 1 numbers" in problems["q3"]
    assert "must be a list of numbers, not 7" in problems["q.jsonl:4"]


def test_plain_queries_with_the_rows_of_a_matrix(index: Any, call: Call, here: Path) -> None:
    index("--vectors m.npy --keys keys.txt")
    (here / "q.txt").write_text("cat dog\n\nbus\n")
    np.save(here / "q.npy", MATRIX[[3, 8]])
    options = ("-i", "x", "--depth", "1", "-k", "1", "--rank", "wmd", "--json", "--query-vector", "q.npy")
    answer = call("search", "--queries", "q.txt", *options)
    assert [hit["key"] for each in answer.lines for hit in each["hits"]] == ["d3", "d8"]
    (here / "q.txt").write_text("cat dog\n")
    refused = call("search", "--queries", "q.txt", *options)
    assert refused.code == 2
    assert refused.sentence == "1 queries need a matrix of as many rows, not one of shape (2, 3)"


def test_a_dry_run_reads_the_vectors(index: Any) -> None:
    assert index("--vectors m.npy --keys keys.txt --dry-run --json").json["added"] == 10
    index("--vectors m.npy --keys keys.txt")
    assert index("--vectors m.npy --keys keys.txt --dry-run --json").json["unchanged"] == 10
    assert index("--dry-run --json").json["updated"] == 10


@pytest.mark.plugin("laboratory")
def test_experiments_say_that_they_compare_words_only(index: Any, call: Call, here: Path) -> None:
    index("--vectors m.npy --keys keys.txt --rank wmd+vector")
    (here / "qrels").write_text("d1 0 d2 1\nd3 0 d4 1\n")
    table = call("evaluate", "retrieval", "-i", "x", "--qrels", "qrels", "--json")
    assert table.code == 0
    for command in (["evaluate", "retrieval", "--method", "wmd+vector"], ["tune"]):
        refused = call(*command, "-i", "x", "--qrels", "qrels")
        assert refused.code == 2
        assert refused.sentence.startswith("experiments compare words, not given vectors: 'wmd+vector' has the term")
    (here / "run").write_text("d1 Q0 d2 1 7.5 engine\nd1 Q0 d5 2 7 engine\nd3 Q0 d9 1 1 engine\nd3 Q0 d4 2 0 engine\n")
    scored = call(
        "evaluate", "retrieval", "-i", "x", "--qrels", "qrels", "--candidates", "run", "--method", "vector", "--json"
    )
    assert [row["map"] for row in scored.json["rows"]] == [0.75, 0.75]
