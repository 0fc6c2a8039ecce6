"""Proofs of searches hold, say what brute force says, and are verified by the manual's rules."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document, Part, TooLarge, UsageError, verify
from tests.indexer.plugins.proofs.conftest import Searchable
from tests.indexer.plugins.proofs.files import content_of, digest_of, is_true, true_distances
from tests.indexer.world import NO_VECTOR, WORDS, MakeCollection, check_exact, document, nearly_equal, snapshot_above
from tests.samples import examples

_TEXTS = st.lists(st.sampled_from([*WORDS, *NO_VECTOR]), min_size=1, max_size=8).filter(set(WORDS).intersection)


@examples(0.5)
@given(
    query=_TEXTS.map(" ".join),
    k=st.integers(1, 70),
    gamma=st.sampled_from([0.0, 0.3, 0.75]),
    weights=st.sampled_from(["tf", "tfidf"]),
)
def test_proofs_of_searches_hold(
    searchable: Searchable, tmp_path: Path, query: str, k: int, gamma: float, weights: str
) -> None:
    collection, twin = searchable.of(gamma=0.75, weights=weights)
    rank = f"pwmd:gamma={gamma}" if gamma else "wmd"
    ranking = collection.prove(tmp_path / "a.proof", query, k=k, rank=rank, exact=True)
    check_exact(ranking, twin.distances(query, gamma=gamma), k)
    verified = verify(tmp_path / "a.proof", collection.digest(rank), k)
    assert [key for key, _ in verified.hits] == [hit.key for hit in ranking.hits]
    assert [distance for _, distance in verified.hits] == [hit.distance for hit in ranking.hits]
    assert (verified.documents, verified.gamma, verified.weights, verified.k) == (63, gamma, weights, k)
    assert {word for word, _ in verified.query} == set(query.split()) - set(NO_VECTOR)
    content = content_of((tmp_path / "a.proof").read_bytes())
    assert is_true(content)
    assert verified.digest == content["digest"] == digest_of(content)


@pytest.mark.parametrize("key", ["d7", "far0", "d59"])
def test_the_query_itself_is_left_out(searchable: Searchable, tmp_path: Path, key: str) -> None:
    collection, _ = searchable.of(weights="tfidf")
    expected = collection.similar(key, k=6, rank="wmd", exact=True)
    ranking = collection.prove(tmp_path / "a.proof", similar=key, k=6, rank="wmd", exact=True)
    verified = verify(tmp_path / "a.proof")
    assert verified.without == key
    assert [hit.key for hit in expected.hits] == [hit.key for hit in ranking.hits] == [key for key, _ in verified.hits]
    assert f"without {key!r}, which is the query" in str(verified)
    assert is_true(content_of((tmp_path / "a.proof").read_bytes()))


def test_documents_that_are_equal_or_as_near_are_no_obstacle(make_collection: MakeCollection, tmp_path: Path) -> None:
    collection = make_collection()
    collection.index([document(f"c{i}", "ant bee cat") for i in range(20)])
    for text in ("ant bee cat", "ant", "ant lark"):
        collection.prove(tmp_path / "a.proof", text, k=7, exact=True)
        assert len(verify(tmp_path / "a.proof").hits) == 7


def test_collections_of_no_document_and_of_one(make_collection: MakeCollection, tmp_path: Path) -> None:
    collection = make_collection()
    collection.index([document("none", "zorp")])
    collection.prove(tmp_path / "a.proof", "ant bee", exact=True)
    verified = verify(tmp_path / "a.proof")
    assert (verified.documents, verified.without_bag, verified.hits) == (0, 1, ())
    assert verified.uncovered == ("ant", "bee")
    assert "where the vector of 'bee' comes from" in str(verified)
    collection.index([document("one", "ant")])
    collection.prove(tmp_path / "a.proof", similar="one", exact=True)
    assert (verify(tmp_path / "a.proof").documents, verify(tmp_path / "a.proof").hits) == (1, ())


def test_records_are_queries_with_ranks(searchable: Searchable, tmp_path: Path) -> None:
    collection, twin = searchable.flat(gamma=0.75)
    query = Document("q", parts=(Part("ant bee"), Part("lark", 3)))
    ranking = collection.prove(tmp_path / "a.proof", query, k=4, rank="pwmd", exact=True)
    check_exact(ranking, twin.distances(query, gamma=0.75), 4)
    weights = dict(verify(tmp_path / "a.proof").query)
    assert nearly_equal(weights["lark"] / weights["ant"], 0.25**0.75)


def test_the_digest_depends_on_the_documents_alone(
    make_collection: MakeCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [document(f"d{i}", f"ant {WORDS[i]} bee", "cat dog dog") for i in range(9)]
    collection = make_collection(gamma=0.5, weights="tfidf")
    collection.index(documents)
    digest = collection.digest("pwmd:gamma=0.5")
    for query in ("ant", "kiwi lark", "bee gnu jay"):
        collection.prove(tmp_path / "a.proof", query, rank="pwmd", exact=True)
        assert verify(tmp_path / "a.proof").digest == digest
    assert digest == collection.digest() != collection.digest("wmd") != collection.digest("wmd:weights=tf")
    snapshot_above(monkeypatch, 0)
    collection.index([document("new", "fox")])
    assert collection.digest() != digest
    collection.remove(["new"])
    assert collection.digest() == digest
    with Collection.open(collection.path) as opened:
        assert opened.digest() == digest
    collection.index([document("d3", "ant bee elk", "cat cat dog")])
    assert collection.digest() != digest


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"rank": "bm25"}, "only wmd or pwmd alone is proven, not bm25: take --rank wmd --exact"),
        ({"rank": "wmd+bm25"}, "only wmd or pwmd alone is proven"),
        ({"rank": "wmd:mu=3"}, "only wmd or pwmd alone is proven"),
        ({"rank": "rwmd"}, "only wmd or pwmd alone is proven"),
        ({"where": "label=red"}, "leave out --where"),
        ({"group_by": "label", "budget": 1.0}, "leave out --group-by, --budget"),
        ({"max_distance": "1%"}, "leave out --max-distance"),
        ({"percentile": True}, "leave out --percentile"),
        ({"stop": bool}, "leave out stop"),
        ({"depth": 20}, "leave out --depth without --exact"),
    ],
)
def test_other_searches_have_no_proof(
    searchable: Searchable, tmp_path: Path, choices: dict[str, Any], message: str
) -> None:
    collection, _ = searchable.flat()
    with pytest.raises(UsageError, match=message):
        collection.prove(tmp_path / "a.proof", "ant", **{"rank": "wmd", **choices})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("choices", [{"full": True}, {"highlight": True}, {"explained": True}])
def test_an_answer_that_is_too_large_leaves_no_proof(
    searchable: Searchable, tmp_path: Path, choices: dict[str, Any]
) -> None:
    collection, _ = searchable.flat()
    with pytest.raises(TooLarge):
        collection.prove(tmp_path / "a.proof", "ant", rank="wmd", exact=True, most_characters=10, **choices)
    assert not list(tmp_path.iterdir())


def test_a_search_with_candidates_first_has_a_proof(searchable: Searchable, tmp_path: Path) -> None:
    collection, _ = searchable.flat()
    collection.prove(tmp_path / "a.proof", "ant bee", k=3, depth=10, exact=True, rank="wmd")
    assert len(verify(tmp_path / "a.proof").hits) == 3


def test_vectors_that_nearly_agree_are_proven(make_collection: MakeCollection, tmp_path: Path) -> None:
    """Costs from 1e-7 to 1: a product of float64 vectors has lost half of the digits of the small ones."""
    rng = np.random.default_rng(3)
    first = rng.standard_normal(6).astype(np.float32)
    words = [f"w{i}" for i in range(24)]
    rows = [first * np.float32(1 + 1e-7 * i) if i < 12 else rng.standard_normal(6) for i in range(24)]
    file = tmp_path / "near.txt"
    lines = [f"{word} {' '.join(repr(float(x)) for x in row)}" for word, row in zip(words, rows, strict=True)]
    file.write_text("\n".join([f"{len(words)} 6", *lines]) + "\n")
    collection = make_collection(embedding=str(file), normalize=False)
    collection.index([document(f"d{i}", " ".join(rng.choice(words, 6))) for i in range(40)])
    for query in ("w0 w3 w11", "w20 w1", "w7"):
        collection.prove(tmp_path / "a.proof", query, k=9, exact=True)
        content = content_of((tmp_path / "a.proof").read_bytes())
        assert is_true(content)
        assert np.allclose(np.sort(true_distances(content))[:9], content["distances"], rtol=0, atol=1e-9)
        verify(tmp_path / "a.proof")
