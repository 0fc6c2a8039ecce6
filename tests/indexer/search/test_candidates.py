"""Candidates of every encoder: reranked exactly, and certified only if the encoder's distance is a lower bound."""

import pytest

from moverank import Collection
from moverank.rerank.encoders.first_stages import PLUG_INS
from tests.indexer.snapshot.small_encoders import SMALL_ENCODERS, view_of, with_encoder
from tests.indexer.world import MakeCollection, Twin, check_exact, check_sound, document, random_documents

pytestmark = pytest.mark.usefixtures("always_compact")


def test_every_encoder_is_tested() -> None:
    assert {encoder.partition(":")[0] for encoder in SMALL_ENCODERS} == set(PLUG_INS.names())


@pytest.mark.parametrize("encoder", SMALL_ENCODERS)
def test_candidates_of_any_encoder_are_reranked_exactly(make_collection: MakeCollection, encoder: str) -> None:
    collection, twin = with_encoder(make_collection, encoder), Twin.of(random_documents(60, seed=8))
    collection.index(twin.documents.values())
    for query in ("ant bee", "lark", "elk fox gnu zorp"):
        expected = twin.distances(query)
        check_sound(collection.search(query, k=3, depth=12), expected, 3)
        check_exact(collection.search(query, k=3, depth=12, exact=True), expected, 3)
        check_exact(collection.search(query, k=3), expected, 3)
    assert len(collection.similar("d1", k=3, depth=5).hits) == 3
    [ranking] = collection.search_many(["ant bee"], k=3, depth=12)
    assert ranking.hits == collection.search("ant bee", k=3, depth=12).hits


@pytest.mark.parametrize("encoder", SMALL_ENCODERS)
def test_only_centroids_of_the_bags_are_a_bound(make_collection: MakeCollection, encoder: str) -> None:
    collection = with_encoder(make_collection, encoder)
    collection.index([*random_documents(40, seed=8), *(document(f"far{i}", "lark lark ant") for i in range(3))])
    ranking = collection.search("lark lark lark lark ant", k=3, depth=4)
    assert ranking.certified == (encoder == "centroid")


def test_another_encoder_can_be_chosen_later(collection: Collection) -> None:
    twin = Twin.of(random_documents(30, seed=8))
    collection.index(twin.documents.values())
    collection.change_settings(first_stage="fisher", first_stage_options=("k=2",))
    check_sound(collection.search("ant", k=2, depth=5), twin.distances("ant"), 2)
    collection.index([])
    assert view_of(collection).encoder().name == "fisher"
    check_sound(collection.search("ant", k=2, depth=5), twin.distances("ant"), 2)
