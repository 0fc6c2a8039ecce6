"""Pairs and near duplicates of a collection, its shards, and behind a server: what servers answer, and what not."""

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from moverank.indexer.errors import UsageError
from moverank.indexer.operations.pairs import FindPairs
from moverank.indexer.values.pair_options import PairOptions
from tests.indexer.plugins.faces import Faces, faces_of
from tests.indexer.plugins.shards.conftest import created, keep_local
from tests.indexer.world import CollectionFactory, document

TEXTS = {"a": "ant bee", "b": "bee ant", "c": "not ant bee", "d": "kiwi 0x80070005", "e": "kiwi", "f": "lark fox ant"}
PAIRS = "/collections/one/pairs"


@pytest.fixture(scope="module")
def faces(factory: CollectionFactory) -> Iterator[Faces]:
    with ExitStack() as opened:
        patch = opened.enter_context(pytest.MonkeyPatch.context())
        keep_local(patch)
        collection, shards = opened.enter_context(factory.empty()), opened.enter_context(created(factory))
        for each in (collection, shards):
            each.index([document(key, text) for key, text in TEXTS.items()])
        yield opened.enter_context(faces_of(collection, shards))


@pytest.mark.parametrize("options", [{"k": 5}, {"k": 3, "within": 0.0, "unknown": "far"}, {"k": 9, "rank": "wmd"}])
def test_every_face_finds_the_same_pairs(options: dict[str, object], faces: Faces) -> None:
    expected = faces.collection.run(FindPairs(search=PairOptions(**options)))  # type: ignore[arg-type]
    assert expected.pairs
    for each in (faces.shards, *faces.remotes[:1]):
        found = each.pairs(**options)  # type: ignore[arg-type]
        assert found.compared == expected.compared
        assert [pair.distance for pair in found.pairs] == pytest.approx([pair.distance for pair in expected.pairs])
    for remote in faces.remotes[:1]:
        assert remote.pairs(**options) == expected  # type: ignore[arg-type]


def test_a_filter_reaches_the_server(faces: Faces) -> None:
    for remote in faces.remotes[:1]:
        for where in (["key^=a"], {"key": ["a", "b"]}, ["key=none"]):
            assert remote.pairs(k=3, where=where) == faces.collection.pairs(k=3, where=where)
        with pytest.raises(UsageError, match="no document has a field 'yaer'"):
            remote.pairs(k=3, where=["yaer>2000"])


def test_what_a_server_does_not_answer_is_one_sentence(faces: Faces) -> None:
    for remote in faces.remotes:
        with pytest.raises(UsageError, match="give k, the number of pairs: a server"):
            remote.pairs(0.5)
        with pytest.raises(UsageError, match="a server does not answer `dedupe`: run it where the collection is"):
            remote.dedupe(0.5)
        with pytest.raises(UsageError, match="a server removes no near duplicates"):
            remote.dedupe(0.5, remove=True)
        with pytest.raises(UsageError, match="a score is no distance"):
            faces.remotes[0].pairs(k=3, rank="bm25")
    for remote in faces.remotes[1:]:
        with pytest.raises(UsageError, match="does not compare the documents of shards in pairs"):
            remote.pairs(k=3)


def test_its_endpoint_has_the_limits_of_a_search(faces: Faces) -> None:
    answer = faces.server.api(PAIRS, {"k": 2, "rank": "wmd", "within": 0})
    assert [(pair["key"], pair["other"], pair["differences"]) for pair in answer["pairs"]] == [
        ("a", "b", [[], []]),
        ("a", "c", [[], ["not ant", "not bee"]]),
    ]
    assert (answer["compared"], answer["ranking"], answer["revision"]) == (15, "wmd", 1)
    assert answer["counts"]["solved"] >= 0
    sentences = {
        "k must be at most 1000 here, not 1001": {"k": 1001},
        "k: must be at least 1": {"k": 0},
        "gamma: must be at least 0": {"k": 1, "gamma": -1},
        "the largest distance of a pair must be a number of 0 or more": {"within": -1},
        "give the largest distance of a pair": {},
        "resumed is no field": {"k": 1, "resumed": True},
        "ignored or far, not 'near'": {"k": 1, "unknown": "near"},
        "must be allowed by --allow-rank": {"k": 1, "rank": "wmd+fisher"},
        "the time": {"k": 9, "budget": 1e-9},
    }
    for sentence, body in sentences.items():
        assert sentence in faces.server.api(PAIRS, body)["detail"], body
    assert not [*faces.collection.path.glob("pairs-*")]


def test_its_openapi_is_made_of_its_record(faces: Faces) -> None:
    described = json.loads(faces.server.get("/openapi.json").text)
    assert "/collections/{name}/dedupe" not in described["paths"]
    assert described["paths"]["/collections/{name}/pairs"]["post"]["operationId"] == "pairs"
    schemas = described["components"]["schemas"]
    k = schemas["PairsBody"]["properties"]["k"]
    assert [one.get("maximum") for one in k["anyOf"]] == [1000, None]
    assert set(schemas["PairsBody"]["properties"]) == {"budget", "within", "k", "rank", "gamma", "where", "unknown"}
    assert schemas["PairsObject"]["required"] == ["pairs", "compared", "counts", "ranking", "revision"]
    assert schemas["PairObject"]["properties"]["unknown_words"]["description"] == (
        "Of each document, the words without a vector that the other lacks."
    )
