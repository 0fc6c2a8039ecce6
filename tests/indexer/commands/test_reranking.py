"""The command `rerank` as users call it."""

import json
from pathlib import Path

import pytest

from tests.indexer.commands.program import Call

TEXTS = {"a": "dog cat", "b": "wine river", "c": "cat", "d": "zzqq", "e": "river"}


@pytest.fixture
def index(call: Call, vectors: Path, tmp_path: Path) -> Path:
    file = tmp_path / "docs.jsonl"
    file.write_text("".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in TEXTS.items()))
    assert call("index", file, "-i", tmp_path / "pets", "--embedding", vectors, "--rank", "wmd").code == 0
    return tmp_path / "pets"


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"id": "q1", "text": "cat"}\n{"id": "q2", "text": "river wine"}\n{"id": "q3", "text": "zzqq"}\n')
    return path


def test_a_run_in_is_a_run_out(call: Call, index: Path, queries: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.trec"
    run.write_text("".join(f"q{q} Q0 {key} {i} {9 - i} x\n" for q in (1, 2) for i, key in enumerate("edab")))
    found = call("rerank", "--run", run, "--queries", queries, "-i", index, "--tag", "second stage")
    assert (found.code, found.err) == (0, "")
    lines = [line.split() for line in found.out.splitlines()]
    searched = {}
    for number, text in ((1, "cat"), (2, "river wine")):
        hits = json.loads(call("search", text, "-i", index, "--json").out)["hits"]
        searched[f"q{number}"] = [hit["key"] for hit in hits if hit["key"] != "c"]
    for query, expected in searched.items():
        own = [line for line in lines if line[0] == query]
        assert [line[2] for line in own] == [*expected, "d"]
        assert [line[3] for line in own] == ["1", "2", "3", "4"]
        scores = [float(line[4]) for line in own]
        assert scores == sorted(scores, reverse=True)
        assert len(set(scores)) == 4
        assert all(line[1] == "Q0" and line[5] == "second_stage" for line in own)


def test_json_of_a_run_has_bounds_and_flags(call: Call, index: Path, queries: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.trec"
    run.write_text("".join(f"q1 Q0 {key} 1 1 x\n" for key in TEXTS))
    found = call("rerank", "--run", run, "--queries", queries, "-i", index, "-k", "1", "--json")
    ranking = json.loads(found.out)
    assert (ranking["query"], ranking["scope"], ranking["certified"]) == ("q1", "candidates", True)
    hits = ranking["hits"]
    assert hits[0]["key"] == "c"
    assert [hit["exact"] for hit in hits if hit["key"] in "cd"] == [True, False]
    assert [hit["wordless"] for hit in hits] == [False] * 4 + [True]


def test_jsonl_in_is_jsonl_out(call: Call, vectors: Path, index: Path) -> None:
    record = {
        "qid": "q9",
        "query": "cat",
        "more": [1],
        "candidates": [
            {"docid": "x", "score": 7, "doc": {"contents": "river"}},
            {"docid": "y", "score": 6, "doc": {"contents": "cat"}, "kept": True},
        ],
    }
    for source in (("--embedding", vectors), ("-i", index)):
        found = call("rerank", "--rank", "wmd", *source, stdin=json.dumps(record).encode())
        assert found.code == 0
        out = json.loads(found.out)
        assert [one["docid"] for one in out["candidates"]] == ["y", "x"]
        assert out["candidates"][0] == record["candidates"][1] | {"score": 1.0, "distance": 0.0, "exact": True}  # type: ignore[operator]
        assert (out["qid"], out["query"], out["more"], out["certified"]) == ("q9", "cat", [1], True)
    stored = {"id": "q", "query": "cat", "candidates": [{"id": "b"}, {"id": "c"}]}
    out = json.loads(call("rerank", "-i", index, stdin=json.dumps(stored).encode()).out)
    assert [one["id"] for one in out["candidates"]] == ["c", "b"]


def test_texts_need_neither_a_collection_nor_vectors(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queries: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [
        {"id": "a", "text": "a late train"},
        {"id": "b", "text": "mending plugs"},
        {"id": "c", "text": "warm days"},
    ]
    lines = [{"query": "a warm plug", "candidates": texts}, {"id": "q1", "candidates": [{"id": "a"}, {"id": "b"}]}]
    found = call(
        "rerank", "--json", "--queries", queries, stdin="".join(json.dumps(line) + "\n" for line in lines).encode()
    )
    by_text, by_id = map(json.loads, found.out.splitlines())
    assert {hit["key"] for hit in by_text["hits"][:2]} == {"b", "c"}  # by the stem of "plugs"
    assert "ids only: give their texts, or name the collection that has them by -i" in by_id["error"]
    assert (found.code, found.err.count("BM25 with stems ranks; --embedding FILE adds word vectors")) == (1, 1)


def test_a_line_that_cannot_be_ranked_is_reported_and_kept(call: Call, index: Path, queries: Path) -> None:
    good = json.dumps({"id": "q1", "candidates": [{"id": "a"}, {"id": "c"}]})
    lines = [good, '{"id": "q8", "candidates": [{"id": "a"}]}', "{", '{"id": "q3", "candidates": [{"id": "b"}]}', good]
    found = call("rerank", "--queries", queries, "-i", index, stdin=("\n".join(lines)).encode())
    assert found.code == 1
    assert "q8: there is no text of this query: give it by --queries" in found.err
    assert "-:3: broken JSON" in found.err
    assert "q3: the query 'zzqq' has no word that the collection has a vector for" in found.err
    objects = call("rerank", "--queries", queries, "-i", index, "--json", stdin="\n".join(lines).encode()).lines
    assert [each.get("error") is None for each in objects] == [True, False, False, False, True]
    assert [hit["key"] for hit in objects[1]["hits"]] == ["a"]
    out = [json.loads(line) for line in found.out.splitlines()]
    assert [[one["id"] for one in each["candidates"]] for each in out] == [["c", "a"], ["a"], ["b"], ["c", "a"]]


def test_each_fault_costs_only_its_candidate_or_line(call: Call, vectors: Path, queries: Path, tmp_path: Path) -> None:
    with queries.open("a") as file:
        file.write("{broken\n")
    lines = [
        "broken",
        {"id": "q1", "candidates": [{"id": "x", "score": 2}, "river", "cat"]},
        {"id": "q1", "candidates": [{"id": "a"}, {"id": "c"}]},
        {"id": "q2", "candidates": ["cat", "river"]},
    ]
    run = tmp_path / "run.jsonl"
    run.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    options = ("rerank", "--run", run, "--queries", queries, "--embedding", vectors, "-i", tmp_path / "none")
    found = call(*options)
    assert found.code == 1
    notes = found.err.splitlines()
    assert f"{queries}:4: broken JSON" in notes[0]
    assert f"{run}:1: broken JSON" in notes[1]
    assert f"{run}:2: 1 of 3 candidates cannot be compared and come last: candidate 1 has no text" in notes[2]
    assert "q1: the candidates have ids only: give their texts" in notes[3]
    first, second, third = (json.loads(line)["candidates"] for line in found.out.splitlines())
    assert [one.get("text") for one in first] == ["cat", "river", None]
    assert first[2]["wordless"]
    assert "has no text" in first[2]["problem"]
    assert [one["id"] for one in second] == ["a", "c"]
    assert [one["text"] for one in third] == ["river", "cat"]
    objects = call(*options, "--json").lines
    assert [sorted({"error", "problems"} & set(one)) for one in objects] == [["error"], ["problems"], ["error"], []]
    assert call(*options[:5], "-i", tmp_path / "none").code == 1


def test_scores_of_the_engine_can_be_a_term(call: Call, index: Path, queries: Path) -> None:
    run = "q1 Q0 c 1 5 x\nq1 Q0 b 2 9 x\n"
    found = call("rerank", "--queries", queries, "-i", index, "--rank", "wmd+9*vector", stdin=run.encode())
    assert [line.split()[2] for line in found.out.splitlines()] == ["b", "c"]


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("--run", "nowhere.trec"), 1, "nowhere.trec: cannot be read: No such file"),
        (("--queries", "-"), 2, "only one of --run and --queries can be standard input"),
        (("--rank", "nothing"), 2, "there is no ranking 'nothing'"),
        (("--embedding", "nowhere.txt"), 1, "nowhere.txt cannot be read: No such file"),
        (("-i", "nowhere"), 1, "there is no collection in nowhere"),
    ],
)
def test_wrong_usage_is_one_sentence(
    call: Call, index: Path, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    given = arguments if "-i" in arguments else ("-i", index, *arguments)
    found = call("rerank", *given, stdin=(b'{"query": "cat", "candidates": ["dog"]}'))
    assert found.code == code
    assert sentence in found.err
    assert "Traceback" not in found.err


def test_stored_candidates_have_whole_texts_on_request(call: Call, index: Path, queries: Path, tmp_path: Path) -> None:
    stored = {"id": "q", "query": "cat", "candidates": [{"id": "b"}, {"id": "c"}]}
    out = json.loads(call("rerank", "-i", index, "--full", stdin=json.dumps(stored).encode()).out)
    assert [one["text"] for one in out["candidates"]] == [TEXTS["c"], TEXTS["b"]]
    (tmp_path / "run").write_text("q1 Q0 b 1 2 x\nq1 Q0 c 2 1 x\n")
    arguments = ("rerank", "--run", tmp_path / "run", "--queries", queries, "-i", index)
    assert [hit["text"] for hit in call(*arguments, "--json", "--full").json["hits"]] == [TEXTS["c"], TEXTS["b"]]
    assert call(*arguments, "--full").out == call(*arguments).out


def test_the_first_candidates_get_places(call: Call, index: Path, vectors: Path) -> None:
    texts = [{"id": key, "text": text} for key, text in TEXTS.items()]
    given = {
        "stored": ([{"id": key} for key in TEXTS], ("-i", index)),
        "texts": (texts, ("--embedding", vectors, "--rank", "wmd")),
    }
    found = {}
    for name, (candidates, source) in given.items():
        line = json.dumps({"query": "cat", "candidates": candidates}).encode()
        options = ("--highlight", "--passage", "2", "-k", "1")
        answer = call("rerank", *source, *options, stdin=line)
        assert (answer.code, answer.err) == (0, "")
        first, *others = answer.json["candidates"]
        assert first["highlights"] == [{"part": 0, "start": 0, "end": 3, "word": "cat", "source": "cat", "cost": 0.0}]
        assert first["passage"] == {"part": 0, "start": 0, "end": 3, "text": "cat", "distance": 0.0, "windows": 1}
        assert not any({"highlights", "passage"} & set(one) for one in others)
        found[name] = call("rerank", *source, *options, "--json", stdin=line).json["hits"][0]
    assert {name: hit["highlights"] for name, hit in found.items()}["stored"] == first["highlights"]


def test_places_in_whole_texts_and_of_runs(call: Call, index: Path, tmp_path: Path) -> None:
    line = json.dumps({"query": "cat", "candidates": [{"id": key} for key in TEXTS]}).encode()
    first = call("rerank", "-i", index, "--full", "--highlight", stdin=line).json["candidates"][0]
    (place,) = first["highlights"]
    start = first["part_starts"][place["part"]]
    assert first["text"][start + place["start"] : start + place["end"]] == "cat"
    (tmp_path / "run").write_text("q1 Q0 b 1 2 x\nq1 Q0 c 2 1 x\n")
    (tmp_path / "queries").write_text('{"id": "q1", "text": "cat"}\n')
    arguments = ("rerank", "--run", tmp_path / "run", "--queries", tmp_path / "queries", "-i", index)
    for option in (("--highlight",), ("--passage", "2")):
        answer = call(*arguments, *option)
        assert (answer.code, answer.out) == (2, "")
        assert "a TREC run has no places" in answer.err
    assert call(*arguments, "--highlight", "--json").json["hits"][0]["highlights"]
    assert "less than or equal to 10000" in call(*arguments, "--json", "--passage", "10001").err
