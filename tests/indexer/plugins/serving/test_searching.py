"""The API answers as the command line does."""

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection, SearchOptions, TooLarge, UsageError
from tests.indexer.commands.program import Call, program
from tests.indexer.plugins.serving.running import RunningServer


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return program(monkeypatch, capsys)


def _without_time(values: Any) -> Any:
    return {name: value for name, value in values.items() if name not in ("seconds", "revision")}


@pytest.mark.parametrize(
    ("command", "action", "body"),
    [
        (["search", "dog wine", "-k", "2"], "search", {"query": "dog wine", "k": 2}),
        (["search", "dog", "--rank", "wmd", "--explain"], "search", {"query": "dog", "rank": "wmd", "explain": True}),
        (["search", "dog", "--where", "year>=2021"], "search", {"query": "dog", "where": ["year>=2021"]}),
        (["search", "dog", "--where", "label=pet"], "search", {"query": "dog", "where": ["label=pet"]}),
        (["search", "dog", "--group-by", "label"], "search", {"query": "dog", "group_by": "label"}),
        (["search", "dog", "--percentile"], "search", {"query": "dog", "percentile": True}),
        (["search", "dog", "--within", "30%"], "search", {"query": "dog", "max_distance": "30%"}),
        (["search", "dog", "--max-distance", "0.9"], "search", {"query": "dog", "max_distance": 0.9}),
        (["similar", "t1", "--within", "30%"], "similar", {"key": "t1", "max_distance": "30%"}),
        (["search", "dog", "--full"], "search", {"query": "dog", "full": True}),
        (["search", "dog", "--highlight"], "search", {"query": "dog", "highlight": True}),
        (["search", "dog", "--passage", "3"], "search", {"query": "dog", "passage": 3}),
        (
            ["similar", "t1", "--full", "--highlight", "--explain"],
            "similar",
            {"key": "t1", "full": True, "highlight": True, "explain": True},
        ),
        (["similar", "t1", "--full"], "similar", {"key": "t1", "full": True}),
        (["search", "zzz", "--rank", "bm25"], "search", {"query": "zzz", "rank": "bm25"}),
        (["similar", "t1", "--gamma", "0.5"], "similar", {"key": "t1", "gamma": 0.5}),
        (["explain", "dog", "t1"], "explain", {"query": "dog", "key": "t1"}),
        (["explain", "t2", "t1"], "explain", {"similar": "t2", "key": "t1"}),
    ],
)
def test_the_api_answers_as_the_command_line(
    call: Call, pets: Path, server: RunningServer, command: list[str], action: str, body: dict[str, Any]
) -> None:
    printed = call(*command, "-i", pets, "--json").json
    printed.pop("query", None)
    reply = server.ask(f"/collections/pets/{action}", body)
    assert reply.status == 200
    assert reply.json["revision"] == 1
    assert _without_time(reply.json) == _without_time(printed)


def test_a_search_by_url_is_that_by_body(server: RunningServer) -> None:
    by_url = server.ask("/collections/pets/search?q=dog+wine&k=2&where=year>=2020&where=label=pets&exact=true").json
    body = {"query": "dog wine", "k": 2, "where": ["year>=2020", "label=pets"], "exact": True}
    assert _without_time(by_url) == _without_time(server.ask("/collections/pets/search", body).json)


@pytest.mark.parametrize("limit", ["9.9", "30%25"])
def test_a_limit_in_a_url_is_a_distance_or_a_share(server: RunningServer, limit: str) -> None:
    by_url = server.ask(f"/collections/pets/search?q=dog+wine&max_distance={limit}&percentile=true").json
    own = 9.9 if limit == "9.9" else "30%"
    body = {"query": "dog wine", "max_distance": own, "percentile": True}
    assert _without_time(by_url) == _without_time(server.ask("/collections/pets/search", body).json)
    assert by_url["hits"]


@pytest.mark.parametrize(
    ("share", "status"), [("100.0%", 200), ("0.1 %", 200), (".5%", 200), ("101%", 422), ("100.1%", 422), ("%", 422)]
)
def test_a_share_is_what_the_library_accepts(server: RunningServer, share: str, status: int) -> None:
    assert server.ask("/collections/pets/search", {"query": "dog", "max_distance": share}).status == status
    with nullcontext() if status == 200 else pytest.raises(UsageError):
        SearchOptions(max_distance=share)


def test_a_record_is_a_query_and_queries_may_be_many(pets: Path, server: RunningServer) -> None:
    record = {"title": "Dog", "body": "cat", "comments": [{"text": "wine", "rank": 3}]}
    answers = server.ask("/collections/pets/search", {"queries": [record, "late train"], "k": 1}).json["answers"]
    with Collection.open(pets) as collection:
        expected = collection.search("late train", k=1)
    assert _without_time(answers[1]) == _without_time(json.loads(json.dumps(expected.to_dict())))
    assert answers[0]["hits"][0]["key"] == "t1"


def test_each_of_many_queries_has_its_own_answer_or_problem(server: RunningServer) -> None:
    good, queries = "late train", ["late train", "xyzzy", {"id": 1}, "dog " * 400_000, ""]
    reply = server.ask("/collections/pets/search", {"queries": queries})
    assert reply.status == 200
    first, *others = reply.json["answers"]
    alone = server.ask("/collections/pets/search", {"query": good}).json
    assert _without_time(first) == _without_time(alone)
    details = [server.ask("/collections/pets/search", {"query": query}).json["detail"] for query in queries[1:]]
    assert [one["problem"] for one in others] == details
    for body in ({"queries": queries[1:]}, {"queries": [good], "rank": "nope"}, {"queries": [good], "k": 5000}):
        assert server.ask("/collections/pets/search", body).status in (413, 422)


def test_stored_documents_are_reranked_by_key(pets: Path, server: RunningServer) -> None:
    body = {"query": "late bus", "keys": ["t1", "t2", "gone"], "k": 1, "rank": "wmd"}
    hits = server.ask("/collections/pets/rerank", body).json["hits"]
    with Collection.open(pets) as collection:
        expected = collection.rerank("late bus", ["t1", "t2", "gone"], 1, rank="wmd")
    assert [(hit["key"], hit["candidate"], hit["wordless"]) for hit in hits] == [
        (hit.key, hit.candidate, hit.wordless) for hit in expected.hits
    ]
    located = server.ask("/collections/pets/rerank", body | {"highlight": True, "passage": 3}).json["hits"]
    assert located[0]["highlights"]
    assert located[0]["passage"]["windows"] >= 1
    assert not {"highlights", "passage"} & {*hits[0], *located[1]}


def test_places_count_in_the_size_of_an_answer(pets: Path, server: RunningServer) -> None:
    for options in ({"passage": 0}, {"passage": "x"}, {"passage": 10_001}, {"highlight": "x"}, {"highlight": "shown"}):
        assert server.ask("/collections/pets/search", {"query": "dog"} | options).status == 422
    with Collection.open(pets) as collection:
        hit = collection.search("dog", k=1, highlight=True, full=True).hits[0]
        assert hit.text is not None
        between = 2 * (len(hit.part_starts) - 1)  # the empty lines between parts
        size = len(hit.text) - between + 100 * (len(hit.highlights) + len(hit.snippet_highlights))
        assert collection.search("dog", k=1, highlight=True, full=True, most_characters=size).hits
        with pytest.raises(TooLarge):
            collection.search("dog", k=1, highlight=True, full=True, most_characters=size - 1)


def test_why_not_names_the_stage(call: Call, pets: Path, server: RunningServer) -> None:
    printed = call("explain", "dog", "t2", "--why-not", "-k", "1", "-i", pets, "--json").json["why_not"]
    assert server.ask("/collections/pets/why-not", {"query": "dog", "key": "t2", "k": 1}).json["why_not"] == printed


def test_documents_are_listed_and_shown(call: Call, pets: Path, server: RunningServer) -> None:
    listed = server.ask("/collections/pets/documents?limit=2&first=1").json
    printed = [json.loads(line) for line in call("list", "-i", pets, "--json").out.splitlines()]
    assert listed["documents"] == printed[1:3]
    assert (listed["found"], listed["total"]) == (4, 4)
    assert server.ask("/collections/pets/documents?where=year>2020").json["found"] == 2
    shown = server.ask("/collections/pets/documents/a/b").json
    assert _without_time(shown) | {"revision": 1} == call("show", "a/b", "-i", pets, "--json").json | {"revision": 1}


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        ("/collections/none/search", {"query": "a"}, 404, "there is no collection 'none': choose pets"),
        ("/collections/pets/search", {}, 422, "give one of query and queries"),
        ("/collections/pets/search", {"query": "dog", "k": 0}, 422, "k: must be at least 1"),
        ("/collections/pets/search", {"query": "dog", "k": 5000}, 422, "k must be at most 1000 here, not 5000"),
        ("/collections/pets/search", {"query": "dog", "percentile": True, "budget": 9}, 422, "go without budget"),
        ("/collections/pets/similar", {"key": "t1", "max_distance": "9%", "budget": 9}, 422, "go without budget"),
        ("/collections/pets/search", {"query": "dog", "rank": "nope"}, 422, "there is no ranking 'nope'"),
        (
            "/collections/pets/search",
            {"query": "dog", "kk": 1},
            422,
            "kk is no field of this request: see /openapi.json for those that there are",
        ),
        ("/collections/pets/search", {"query": "xyzzy"}, 422, "has no word that the collection has a vector for"),
        ("/collections/pets/search", {"query": {"id": 1}}, 422, "a query needs the form"),
        ("/collections/pets/search", {"query": "dog", "where": ["?"]}, 422, "?"),
        ("/collections/pets/search", b"{broken", 422, "broken JSON at character 1"),
        ("/collections/pets/search", {"query": "dog " * 400_000}, 413, "has 1,600,000 characters: at most 1,000,000"),
        ("/collections/pets/search", {"queries": ["dog"] * 101}, 422, "at most 100 queries"),
        ("/collections/pets/similar", {"key": "gone"}, 404, "no document with the key 'gone'"),
        ("/collections/pets/rerank", {"query": "dog", "keys": ["x"] * 1001}, 422, "at most 1000 candidates"),
        ("/collections/pets/documents/gone", None, 404, "no document with the key 'gone'"),
        ("/nowhere", None, 404, "Not Found"),
    ],
)
def test_a_bad_request_is_one_problem(server: RunningServer, path: str, body: Any, status: int, detail: str) -> None:
    reply = server.ask(path, body)
    assert reply.status == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json["status"] == status
    assert detail in reply.json["detail"]
    assert str(Path.cwd().parent) not in reply.json["detail"]


def test_status_and_metrics(server: RunningServer) -> None:
    assert server.ask("/health").json == {"status": "ok"}
    assert server.ask("/ready").json == {"status": "ready"}
    (described,) = server.ask("/collections").json["collections"]
    assert (described["name"], described["documents"], described["revision"], described["ready"]) == (
        "pets",
        4,
        1,
        True,
    )
    assert server.ask("/info").json["model_id"] == "pets"
    server.ask("/collections/pets/search", {"query": "dog"})
    text = server.ask("/metrics").body.decode()
    assert 'moverank_requests_total{method="POST",route="/collections/{name}/search",status="200"}' in text
    assert 'moverank_revision{collection="pets"} 1.0' in text
    assert "moverank_problems_solved_total" in text
    paths = server.ask("/openapi.json").json["paths"]
    assert {"/rerank", "/v1/rerank", "/v2/rerank", "/collections/{name}/search"} <= set(paths)


def test_a_filter_has_a_limited_size_and_many_values_are_no_work(server: RunningServer) -> None:
    def status(where: Any) -> tuple[int, str]:
        reply = server.ask("/collections/pets/search", {"query": "dog", "where": where})
        return reply.status, reply.json.get("detail", "")

    assert status([f"year={i}" for i in range(10_000)])[0] == 200
    too_many = "a filter has at most 10,000 values: this one has 10,001: use several filters"
    assert status([f"year={i}" for i in range(10_001)]) == (422, too_many)
    assert status({"year": list(range(10_001))}) == (422, too_many)
    together = "a filter has at most 100 conditions which must all hold, not 101"
    assert status([f"year!={i}" for i in range(101)]) == (422, together)
