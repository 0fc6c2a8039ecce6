"""`search`, `similar` and `explain`: JSON keys, text output, batches and filters."""

import csv
import io
import json
import sys
from itertools import combinations
from pathlib import Path

import pytest

from moverank.indexer.values.settings import default_rank
from tests.indexer.commands.program import Call
from tests.installed import installed

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
NOTE = "moverank: -k 1 ended {}: more documents may be within the limit, a larger -k shows them\n"
FLOW, SPANS = {"source", "target", "mass", "cost", "share"}, {"source_spans", "target_spans"}


@pytest.mark.parametrize("arguments", SEARCHES)
def test_search_and_similar_have_their_json_keys(call: Call, collection: Path, arguments: tuple[str, ...]) -> None:
    answer = call(*arguments, "-i", collection, "--json")
    assert (answer.code, answer.err) == (0, "")
    result = answer.json
    assert {"hits", "certified", "scope", "counts", "seconds", "ranking"} <= set(result)
    assert set(result["counts"]) == {"candidates", "rwmd", "dual", "sinkhorn", "solved"}
    assert isinstance(result["certified"], bool)
    assert result["scope"] in ("collection", "candidates")
    assert result["hits"]
    assert [hit["rank"] for hit in result["hits"]] == list(range(1, len(result["hits"]) + 1))
    values = [hit.get("total", hit["distance"]) for hit in result["hits"]]
    assert values == sorted(values)
    assert result["ranking"]
    for hit in result["hits"]:
        assert {"rank", "key", "title", "distance", "score"} <= set(hit)
        assert all(set(flow) == FLOW for flow in hit.get("flows", []))
        assert not {"highlights", "snippet_highlights", "part_starts", "passage"} & set(hit)


def test_percentiles_and_a_share_of_the_documents(call: Call, collection: Path) -> None:
    whole = call("search", "cat and dog", "-i", collection, "--percentile", "--json").json["hits"]
    shares = [hit["percentile"]["share"] for hit in whole]
    assert shares == sorted(shares)
    assert 0 == shares[0] < shares[-1]
    limit = f"{100 * shares[2]}%"
    few = call("search", "cat and dog", "-i", collection, "--within", limit, "--json").json["hits"]
    assert [hit["key"] for hit in few] == [hit["key"] for hit in whole if hit["percentile"]["share"] <= shares[2]]
    shown = call("search", "cat and dog", "-i", collection, "--within", limit).out.splitlines()[0]
    assert shown.endswith("top 0 %")
    table = csv.DictReader(io.StringIO(call("similar", "d1", "-i", collection, "--percentile", "--format", "csv").out))
    assert float(next(table)["percentile"]) == 0


def test_a_list_that_k_ended_before_the_limit_is_noted(call: Call, collection: Path, tmp_path: Path) -> None:
    (tmp_path / "two.txt").write_text("cat\ndog\n")
    within = ("-i", collection, "--within", "100", "-k")
    for arguments in (("search", "cat"), ("search", "cat", "--json"), ("similar", "d1")):
        assert call(*arguments, *within, "1").err == NOTE.format("the list")
        assert call(*arguments, *within, "1000").err == ""
    assert call("search", "--queries", tmp_path / "two.txt", *within, "1").err == NOTE.format("2 lists")
    assert call("search", "cat", "-i", collection, "-k", "1").err == ""


@pytest.mark.parametrize("scorer", installed(("bow", "tfidf:norm=l2", "bm25", "pl2", "translation", "interpolation")))
def test_a_scorer_is_selected_like_a_distance(call: Call, collection: Path, scorer: str) -> None:
    for arguments in (("search", "cat and dog"), ("similar", "d1")):
        result = call(*arguments, "--distance", scorer, "-i", collection, "--json").json
        scores = [hit["score"] for hit in result["hits"]]
        assert scores
        assert scores == sorted(scores, reverse=True)
        assert {hit["distance"] is None for hit in result["hits"]} == {scorer not in ("bow", "tfidf:norm=l2")}
        shown = call(*arguments, "--distance", scorer, "-i", collection)
        assert (shown.code, shown.err) == (0, "")
        assert "Certified" in shown.out


def test_a_sum_shows_its_terms(call: Call, collection: Path) -> None:
    result = call("search", "cat and dog", "--rank", "wmd+0.4*bm25", "-i", collection, "--json").json
    assert (result["ranking"], result["certified"]) == ("wmd+0.4*bm25", True)
    assert all(hit["parts"].keys() == {"wmd", "bm25"} for hit in result["hits"])
    shown = call("search", "cat and dog", "--rank", "wmd+0.4*bm25", "-i", collection, "-k", "1").out
    hit = result["hits"][0]
    costs = f"costs: distance {hit['costs']['wmd']:.4f} + shared words {hit['costs']['bm25']:.4f}"
    assert [f"  1 total {hit['total']:.4f}" in shown, costs in shown] == [True, True]
    legend = "Ranked by the total, smaller is better: distance (wmd) + shared words (0.4*bm25)."
    assert shown.splitlines()[-1] == legend
    explained = call("explain", "cat and dog", "d1", "--rank", "wmd+0.4*bm25", "-i", collection, "--json").json
    assert explained["parts"].keys() == {"wmd", "bm25"}
    table = call("explain", "cat and dog", "d1", "--rank", "wmd+0.4*bm25", "-i", collection).out.splitlines()
    assert table[1] == f"total {explained['total']:.6f}, the sum of the costs:"
    assert table[2].split() == ["term", "value", "best", "unit", "weight", "cost", "specification"]
    rows = [line.split() for line in table[3:5]]
    assert [row[-1] for row in rows] == ["wmd", "bm25"]
    assert [float(row[-2]) for row in rows] == pytest.approx([*explained["costs"].values()], abs=1e-4)
    assert [float(row[-6]) for row in rows] == pytest.approx([*explained["parts"].values()], abs=1e-4)


@pytest.mark.parametrize(
    ("rank", "legend"), [("wmd", "distance, smaller is nearer"), ("bm25", "score, larger is better")]
)
def test_the_number_of_a_hit_has_a_name(call: Call, collection: Path, rank: str, legend: str) -> None:
    shown = call("search", "cat and dog", "--rank", rank, "-i", collection, "-k", "1").out.splitlines()
    assert shown[0].startswith(f"  1 {legend.partition(',')[0]} ")
    assert shown[-1] == f"Ranked by the {legend}: {rank}."
    nearer = "nearer" if rank == "wmd" else "better"
    assert shown[-2].startswith(f"Certified: no other document is {nearer}.")


def test_a_new_collection_ranks_by_the_default_sum(call: Call, collection: Path) -> None:
    assert call("search", "cat", "-i", collection, "--json").json["ranking"] == default_rank(0.0, stem="english")
    assert call("info", "-i", collection, "--json").json["rank"] == "auto"
    file = collection.parent / "one.jsonl"
    file.write_text('{"id": "one", "text": "cat"}')
    assert call("index", file, "-i", collection, "--rank", "wmd").code == 0
    assert call("search", "cat", "-i", collection, "--json").json["ranking"] == "wmd"


def test_a_search_without_hits_is_reported(call: Call, collection: Path) -> None:
    assert "Nothing found" in call("search", "nowhereatall", "--distance", "bm25", "-i", collection).out


@pytest.mark.parametrize(
    ("rank", "unknown", "ignored", "shown"),
    [
        ("wmd", ["radiators", "zebra"], ["radiators", "zebra"], "Ignored, without a vector: radiators, zebra."),
        ("bm25", ["radiators", "zebra"], ["radiators", "wine", "zebra"], "Ignored, in no document: radiators, wine"),
        ("bm25:stem=english", ["radiators", "zebra"], ["wine", "zebra"], "Ignored, in no document: wine, zebra."),
        ("wmd+bm25:stem=english", ["radiators", "zebra"], ["zebra"], "compared only as words: radiators."),
    ],
)
def test_words_without_a_vector_or_without_effect_are_named(
    call: Call, collection: Path, rank: str, unknown: list[str], ignored: list[str], shown: str
) -> None:
    file = collection.parent / "one.jsonl"
    file.write_text('{"id": "one", "text": "dog radiator"}')
    call("index", file, "-i", collection)
    call("remove", "d5", "d9", "-i", collection)  # the only ones with wine
    text = "the radiators, dog and wine of a zebra"
    arguments = (text, "-i", collection, "--rank", rank, "--no-spelling")
    result = call("search", *arguments, "--json").json
    assert (result["unknown_words"], result["ignored_words"]) == (unknown, ignored)
    assert shown in call("search", *arguments).out


def test_the_words_of_an_explanation_without_a_flow_are_named(call: Call, collection: Path, tmp_path: Path) -> None:
    arguments = ("explain", "dog zebra", "d1", "-i", collection)
    assert call(*arguments, "--json").json["unknown_words"] == ["zebra"]
    assert "Without a vector, in no flow: zebra." in call(*arguments, "--html", tmp_path / "why.html").out
    assert "(Without a vector, in no flow: zebra.)" in (tmp_path / "why.html").read_text()


def test_each_query_of_a_batch_has_its_unknown_words(call: Call, collection: Path) -> None:
    answer = call("search", "--queries", "-", "-i", collection, "--json", stdin=b"dog zebra\ncat\n")
    assert [result["unknown_words"] for result in answer.lines] == [["zebra"], []]
    assert "unknown_words" not in call("similar", "d1", "-i", collection, "--json").json


def test_explain_of_a_search_names_every_flow(call: Call, collection: Path) -> None:
    hit = call("search", "cat dog", "-i", collection, "-k", "1", "--explain", "--json").json["hits"][0]
    assert sum(flow["mass"] * flow["cost"] for flow in hit["flows"]) == pytest.approx(hit["distance"])


def test_similar_excludes_the_document_itself(call: Call, collection: Path) -> None:
    result = call("similar", "d1", "-i", collection, "-k", "100", "--json").json
    assert len(result["hits"]) == 9
    assert "d1" not in [hit["key"] for hit in result["hits"]]


def test_explain_has_its_json_keys(call: Call, collection: Path) -> None:
    result = call("explain", "cat dog", "d1", "-i", collection, "--json").json
    assert {"distance", "flows"} <= set(result)
    assert all(set(flow) == FLOW | SPANS for flow in result["flows"])
    assert all(set(one) == {"part", "start", "end", "word", "source", "cost"} for one in result["highlights"])
    assert sum(flow["mass"] * flow["cost"] for flow in result["flows"]) == pytest.approx(result["distance"])


def test_explain_writes_a_page(call: Call, collection: Path, tmp_path: Path) -> None:
    answer = call("explain", "cat", "d1", "-i", collection, "--html", tmp_path / "why.html", "--json")
    assert "distance" in answer.json
    assert (tmp_path / "why.html").read_text().startswith("<!DOCTYPE html>")


def test_the_text_output_of_a_hit(call: Call, collection: Path) -> None:
    answer = call("search", "cat", "-i", collection, "-k", "1")
    rank, name, total, *title = answer.out.splitlines()[0].split()
    assert (rank, name, title) == ("1", "total", ["Cat", "story", "[even]"])
    assert float(total) >= 0
    assert answer.out.splitlines()[-2].startswith("Certified: no other document is better.")
    assert answer.err == ""


def test_where_accepts_any_value_of_a_field_and_requires_all_fields(call: Call, collection: Path) -> None:
    def keys(*conditions: str) -> set[str]:
        options = [word for condition in conditions for word in ("--where", condition)]
        hits = call("search", "cat", "-i", collection, *options, "--json").json["hits"]
        return {hit["key"] for hit in hits}

    assert keys("label=odd") == {"d1", "d3", "d5", "d7", "d9"}
    assert keys("year=2003", "year=2004") == {"d3", "d4"}
    assert keys("label=odd", "year=2003", "year=2004") == {"d3"}
    assert keys("label=none") == set()


def test_a_filter_without_matches_is_reported(call: Call, collection: Path) -> None:
    answer = call("search", "cat", "-i", collection, "--where", "label=none")
    assert answer.code == 0
    assert answer.out.startswith("No document passes the filter: none meets label=none")


def test_a_batch_prints_one_object_a_line(call: Call, collection: Path, tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text('{"id": "a", "text": "cat"}\n{"id": "b", "text": "zebra"}\n{"id": "c", "text": "dog"}\n')
    answer = call("search", "--queries", file, "-i", collection, "--json")
    assert answer.code == 1
    assert [result["query"] for result in answer.lines] == ["a", "b", "c"]
    assert ["hits" in result for result in answer.lines] == [True, False, True]
    assert "zebra" in answer.lines[1]["error"]
    assert answer.sentence.startswith("b: the query 'zebra' has no word")


def test_a_batch_can_be_a_trec_run(call: Call, collection: Path, tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text('{"id": "a", "text": "cat"}\n{"id": "b", "text": "zebra"}\n{"id": "c", "text": "dog"}\n')
    arguments = ("search", "--queries", file, "-i", collection, "-k", "3")
    answer = call(*arguments, "--format", "trec")
    assert answer.code == 1
    assert answer.sentence.startswith("b: the query 'zebra' has no word")
    columns = [line.split() for line in answer.out.splitlines()]
    assert [(line[0], line[1], *line[3:]) for line in columns] == [
        (query, "Q0", str(rank), str(4 - rank), "moverank") for query in "ac" for rank in (1, 2, 3)
    ]
    hits = [hit["key"] for line in call(*arguments, "--json").lines for hit in line.get("hits", [])]
    assert [line[2] for line in columns] == hits
    assert call("search", "cat", "-i", collection, "--format", "trec").code == 2


def test_queries_from_standard_input(call: Call, collection: Path) -> None:
    answer = call("search", "--queries", "-", "-i", collection, "--json", "-k", "1", stdin=b"cat\n\ndog\n")
    assert [result["query"] for result in answer.lines] == ["1", "3"]


def test_several_keys_print_one_object_a_line(call: Call, collection: Path) -> None:
    answer = call("similar", "d1", "nowhere", "d2", "-i", collection, "--json")
    assert answer.code == 1
    assert [result["query"] for result in answer.lines] == ["d1", "nowhere", "d2"]
    assert "nowhere" in answer.sentence


def test_the_text_output_names_each_query(call: Call, collection: Path) -> None:
    out = call("search", "--queries", "-", "-i", collection, "-k", "1", stdin=b"cat \x1b[31mred\n").out
    assert out.startswith("1: cat  [31mred\n")


def test_characters_that_the_output_encoding_lacks_are_escaped(
    call: Call, collection: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "more.jsonl"
    file.write_text(json.dumps({"id": "é", "title": "日本 \x1b[31m", "text": "cat"}) + "\n")
    call("index", file, "-i", collection)

    def written(*more: str) -> bytes:
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii", write_through=True))
        assert call("search", "cat", "--rank", "wmd", "-i", collection, "-k", "1", *more).code == 0
        return raw.getvalue()

    assert json.loads(written("--json"))["hits"][0]["title"] == "日本 \x1b[31m"
    assert '"key": "é", "title": "日本 \\u001b[31m"'.encode() in written("--json")  # JSON is UTF-8, whatever the locale
    assert b"\\u65e5\\u672c  [31m" in written()


def test_a_bad_line_of_a_batch_does_not_stop_the_others(call: Call, collection: Path, tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_bytes(b'{"text": "cat"}\n{"text": \n{"id": "b", "text": "dog"}\n\xff\n{"id": 1}\n')
    arguments = ("search", "--queries", file, "-i", collection, "-k", "1")
    answer = call(*arguments, "--json")
    assert answer.code == 1
    assert [result["query"] for result in answer.lines] == ["1", f"{file}:2", "b", f"{file}:4", f"{file}:5"]
    assert ["hits" in result for result in answer.lines] == [True, False, True, False, False]
    notes = answer.err.splitlines()
    assert len(notes) == 3
    assert notes[0].startswith(f"moverank: {file}:2: broken JSON at column 9: ")
    assert "is not UTF-8" in notes[1]
    assert notes[2].startswith(f"moverank: {file}:5: a query needs the form")
    run = call(*arguments, "--format", "trec")
    assert (run.code, [line.split()[0] for line in run.out.splitlines()], run.err) == (1, ["1", "b"], answer.err)
    assert [line[:6] for line in call(*arguments).out.splitlines() if line[:1] in "1b"] == ["1: cat", "b: dog"]


THREAD = (
    '{"id": "t", "title": "Dog and bird", "body": "A dog sleeps", "comments": [{"text": "wine", "rank": 5}, '
    '{"text": "cat piano"}]}'
)


@pytest.mark.parametrize("rank", ["wmd", "pwmd:gamma=0.5", "tfidf", "bm25:gamma=0.75,stem=english", "auto"])
def test_a_thread_is_searched_for_as_if_it_were_stored(call: Call, collection: Path, tmp_path: Path, rank: str) -> None:
    file = tmp_path / "thread.jsonl"
    file.write_text(THREAD + "\n")
    call("threads", file, "-i", collection, "--setting", "title_weight=3", "--gamma", "0.75")
    options = ("-i", collection, "-k", "50", *(() if rank == "auto" else ("--rank", rank)), "--json")
    stored = call("similar", "t", *options).json
    answers = [
        call("search", "--thread", file, *options).json,
        call("search", "--thread", "-", *options, stdin=THREAD.encode()).json,
        call("search", "--queries", file, *options).json,
    ]
    assert stored["hits"]
    for answer in answers:
        keys = [hit["key"] for hit in answer["hits"]]
        assert "t" in keys
        assert [key for key in keys if key != "t"] == [hit["key"] for hit in stored["hits"]]
        assert answer["certified"]
    assert answers[2]["query"] == "t"
    if rank.startswith(("wmd", "pwmd")):
        assert (answers[0]["hits"][0]["key"], answers[0]["hits"][0]["distance"]) == ("t", pytest.approx(0, abs=1e-6))


def test_a_file_is_searched_for_as_if_it_were_stored(call: Call, collection: Path, tmp_path: Path) -> None:
    file, options = tmp_path / "notes.txt", ("-i", collection, "-k", "50", "--json")
    file.write_text("Dog and bird\n\nA dog sleeps. The cat\nplays the piano.\n")
    call("index", file, "-i", collection, "--setting", "title_weight=3")
    stored = call("similar", str(file), *options).json
    for answer in (
        call("search", "--file", file, *options).json,
        call("search", "--file", "-", *options, stdin=file.read_bytes()).json,
    ):
        assert answer["hits"][0]["key"] == str(file)
        assert [hit["key"] for hit in answer["hits"][1:]] == [hit["key"] for hit in stored["hits"]]
    assert call("search", "--file", file, "-i", collection, "-k", "1").out.split()[3:6] == ["Dog", "and", "bird"]


def test_one_query_is_given_in_one_way(call: Call, collection: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("a cat")
    ways: list[tuple[object, ...]] = [("cat",), ("--file", file), ("--thread", file), ("--queries", file)]
    for given in [(), *(one + other for one, other in combinations(ways, 2))]:
        answer = call("search", *given, "-i", collection)
        assert answer.code == 2
        assert answer.sentence == "give one of these: a query, --file FILE, --thread FILE, or --queries FILE"


def test_a_bad_query_file_fails_in_one_sentence(call: Call, collection: Path, tmp_path: Path) -> None:
    (tmp_path / "threads.jsonl").write_text(THREAD + "\n" + THREAD + "\n")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "stop.txt").write_text("the of")
    for given, reason in [
        (("--thread", tmp_path / "threads.jsonl"), "threads.jsonl:2: the key 't' is already taken"),
        (("--thread", tmp_path / "empty.txt"), "empty.txt: it does not look like threads"),
        (("--file", tmp_path / "empty.txt"), "empty.txt: there is no text"),
        (("--file", tmp_path / "stop.txt"), "all of its words are stop words"),
        (("--file", tmp_path / "missing"), "missing: there is no such file or directory"),
    ]:
        answer = call("search", *given, "-i", collection, "--json")
        assert (answer.code, answer.out) == (1, "")
        assert reason in answer.sentence


def test_damage_is_reported_and_the_ranking_is_right(
    call: Call, collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 0)
    call("refit", "-i", collection)
    [weights] = collection.glob("snapshot-*/weights")
    before = call("search", "cat", "-i", collection, "--json").json["hits"]
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    answer = call("search", "cat", "-i", collection, "--json")
    assert answer.json["hits"] == before
    assert answer.sentence.endswith("weights does not match its checksum: the snapshot is rebuilt from the database")


def test_tables_have_the_hits_of_the_json(call: Call, collection: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries"
    queries.write_text("cat dog\nzzqq\nwine\n")
    for arguments in (("search", "cat"), ("search", "--queries", queries), ("similar", "d1"), ("similar", "d1", "d2")):
        found = call(*arguments, "-i", collection, "--format", "csv", "-k", "3")
        rows = list(csv.DictReader(io.StringIO(found.out)))
        answers = call(*arguments, "-i", collection, "--json", "-k", "3")
        hits = [(answer.get("query"), hit) for answer in answers.lines for hit in answer.get("hits", [])]
        assert found.code == answers.code
        assert len(rows) == len(hits)
        for row, (query, hit) in zip(rows, hits, strict=True):
            assert (row["rank"], row["key"], row["title"]) == (str(hit["rank"]), hit["key"], hit["title"])
            assert (float(row["distance"]), float(row["total"])) == (hit["distance"], hit["total"])
            assert row["year"] == str(hit["metadata"]["year"])
            assert row.get("query", query) == query
            assert ("query" in row) == (len(arguments) == 3)


def test_whole_texts_are_shown_on_request(call: Call, collection: Path, tmp_path: Path) -> None:
    (tmp_path / "long.jsonl").write_text(json.dumps({"id": "long", "text": "cat\n\n" + "bread " * 80 + "\x1b[2J"}))
    assert call("index", tmp_path / "long.jsonl", "-i", collection).code == 0
    search = ("search", "cat bread", "-i", collection, "-k", "1")
    text = call("show", "long", "-i", collection, "--json").json["parts"][0]["text"]
    assert "text" not in call(*search, "--json").json["hits"][0]
    assert call(*search, "--json", "--full").json["hits"][0]["text"] == text
    shown = call(*search, "--full").out
    assert shown.count("bread") >= 80 > call(*search).out.count("bread")
    assert "\x1b" not in shown
    (row,) = csv.DictReader(io.StringIO(call(*search, "--full", "--format", "csv").out))
    assert row["text"] == text.replace("\x1b", " ")


@pytest.mark.parametrize("command", [("search", "cat"), ("similar", "d1"), ("list",)])
def test_a_table_is_no_json(call: Call, collection: Path, command: tuple[str, ...]) -> None:
    answer = call(*command, "-i", collection, "--format", "csv", "--json")
    assert (answer.code, answer.sentence) == (2, "--format csv goes without --json")


def test_documents_and_threads_are_explained(call: Call, collection: Path, tmp_path: Path) -> None:
    (hit,) = call("similar", "d1", "-i", collection, "-k", "1", "--json").json["hits"]
    explained = call("explain", "d1", hit["key"], "-i", collection, "--json").json
    assert explained["query_key"] == "d1"
    assert (explained["distance"], explained["total"]) == (
        pytest.approx(hit["distance"]),
        pytest.approx(hit["total"]),
    )
    shown = call("explain", "d1", hit["key"], "-i", collection, "--why-not", "--html", tmp_path / "why.html")
    assert shown.out.startswith("why not: its total is ")
    assert "It is one of the hits" in shown.out.partition(f"\ndocument d1 to document {hit['key']}\n")[0]
    assert "<p>Query: <bdi>d1" in (tmp_path / "why.html").read_text()
    (tmp_path / "thread.jsonl").write_text(json.dumps({"title": "cat", "body": "dog", "comments": [{"text": "wine"}]}))
    for option in ("--thread", "--file"):
        given = (option, tmp_path / "thread.jsonl", "-i", collection, "--json")
        (hit,) = call("search", *given, "-k", "1").json["hits"]
        explained = call("explain", *given, hit["key"]).json
        assert explained["total"] == pytest.approx(hit["total"])
        assert "query_key" not in explained


def test_a_key_is_told_from_a_text(call: Call, collection: Path, tmp_path: Path) -> None:
    (tmp_path / "cat.jsonl").write_text('{"id": "cat", "text": "wine river"}')
    assert call("index", tmp_path / "cat.jsonl", "-i", collection).code == 0
    document = call("explain", "cat", "d1", "-i", collection, "--json").json
    text = call("explain", "cat", "d1", "-i", collection, "--text", "--json").json
    assert {flow["source"] for flow in document["flows"]} == {"wine", "river"}
    assert {flow["source"] for flow in text["flows"]} == {"cat"}
    mistyped = call("explain", "d111", "d1", "-i", collection)
    assert mistyped.code == 1
    assert mistyped.sentence.endswith("has no word that the collection has a vector for, and no document has this key")
    one = call("explain", "d1", "-i", collection)
    assert (one.code, one.sentence) == (
        2,
        "give two: a text or the key of a document, then the key of the document to compare with",
    )
    for more in (("d1", "d2", "--file", "x"), ("d1", "--file", "x", "--thread", "x"), ("d1", "--file", "x", "--text")):
        assert "give one of these: a text or key, --file" in call("explain", *more, "-i", collection).sentence


def test_hits_are_written_as_a_page(call: Call, collection: Path, tmp_path: Path) -> None:
    page, queries = tmp_path / "page.html", tmp_path / "queries"
    queries.write_text("cat dog\nzzqq\n")
    plain = call("search", "cat dog", "-i", collection, "--json").json
    for arguments in (("search", "cat dog"), ("similar", "d1"), ("search", "--queries", queries)):
        page.unlink(missing_ok=True)
        found = call(*arguments, "-i", collection, "--html", page, "--json").lines[0]
        text = page.read_text()
        assert text.count('<article class="hit">') == len(found["hits"]) > 0
        assert all(f"<code>{hit['key']}</code>" in text and f"{hit['total']:.4f}" in text for hit in found["hits"])
        assert "Which words moved where" in text
        assert not any("flows" in hit for hit in found["hits"])
    assert "zzqq" in text
    assert [hit["key"] for hit in plain["hits"]] == [hit["key"] for hit in found["hits"]]
    answer = call("search", "cat", "-i", collection, "--html", tmp_path / "no" / "page.html")
    assert (answer.code, "there is no directory" in answer.sentence) == (2, True)


def test_highlights_and_passages(call: Call, collection: Path, tmp_path: Path) -> None:
    page = tmp_path / "hits.html"
    options = ("--highlight", "--full", "--passage", "3", "-k", "3")
    answer = call("search", "cat dog", "-i", collection, "--json", "--html", page, *options)
    for hit in answer.json["hits"]:
        for one in hit["highlights"]:
            if one["part"] is not None:
                start = hit["part_starts"][one["part"]]
                assert hit["text"][start + one["start"] : start + one["end"]].lower() == one["word"]
        for one in hit["snippet_highlights"]:
            assert hit["snippet"][one["start"] : one["end"]].lower() == one["word"]
        passage = hit["passage"]
        start = hit["part_starts"][passage["part"]]
        assert hit["text"][start + passage["start"] : start + passage["end"]] == passage["text"]
        assert f"distance {passage['distance']:.4f}" in page.read_text()
        assert "flows" not in hit  # the page has them
    assert "<mark>cat</mark>" in page.read_text()
    explained = call("search", "cat dog", "-i", collection, "--json", "--explain", "--highlight").json["hits"]
    assert all(set(flow) == FLOW | SPANS for hit in explained for flow in hit["flows"])
    plain = call("search", "cat dog", "-i", collection, "--json", "--html", page).json
    assert not {"highlights", "flows", "snippet_highlights"} & set(plain["hits"][0])
    for with_page in ((), ("--html", page)):
        alone = call("search", "cat dog", "-i", collection, "--json", "--full", "--passage", "3", *with_page).json[
            "hits"
        ]
        assert all(hit["part_starts"][0] == 0 and "highlights" not in hit for hit in alone)
    shown = call("search", "cat dog", "-i", collection, "--passage", "3", "-k", "1").out
    assert f"Passage of part 0, distance {answer.json['hits'][0]['passage']['distance']:.4f}" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--format", "csv", "--highlight"), "--format csv has no places: leave --highlight and --passage out"),
        (("--format", "csv", "--passage", "4"), "--format csv has no places: leave --highlight and --passage out"),
        (("--passage", "0"), "--passage"),
        (("--passage", "10001"), "--passage"),
    ],
)
def test_places_that_cannot_be_printed(call: Call, collection: Path, options: tuple[str, ...], message: str) -> None:
    answer = call("search", "cat", "-i", collection, *options)
    assert answer.code == 2
    assert message in answer.err
