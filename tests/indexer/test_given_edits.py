"""Any sequence of edits of documents with vectors gives the candidates of brute force, and of indexing from scratch."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.values.given_vectors import VectorMetric
from tests.indexer.given import METRICS, costs
from tests.indexer.world import WORDS, CollectionFactory, document, snapshot_above
from tests.samples import examples

pytestmark = pytest.mark.store

KEYS = tuple("abcdefgh")
_NUMBER = st.sampled_from([0.0, 1.0, -1.0, 0.5, 3.0])
_DOCUMENT = st.builds(
    lambda key, words, vector: replace(document(key, " ".join(words)), vector=vector),
    st.sampled_from(KEYS),
    st.lists(st.sampled_from([*WORDS[:4], "zorp"]), min_size=1, max_size=3),
    st.none() | st.lists(_NUMBER, min_size=3, max_size=3),
)
_KIND = st.sampled_from(["index", "remove", "prune"])
_EDITS = st.lists(
    st.tuples(_KIND, st.lists(_DOCUMENT, min_size=1, max_size=5), st.integers(0, 4)),
    min_size=1,
    max_size=6,
)
QUERY = np.array([1.0, 0.25, -0.5], np.float32)


def _shown(collection: Collection, m: int) -> dict[str, float]:
    """Return the documents that are ranked by vectors, and their candidates' values."""
    hits = collection.search("ant bee", k=99, rank="vector", vector=QUERY).hits
    ranking = collection.search("ant bee", k=m, depth=m, vector=QUERY)
    values = {hit.key: dict(hit.parts)["vector"] for hit in hits}
    if ranking.scope == "candidates":
        assert {hit.key for hit in ranking.hits} <= set(values)
    return values


@examples(0.3)
@given(_EDITS, st.sampled_from(METRICS), st.sampled_from(["auto", "HNSW32", "SQ8"]))
def test_any_sequence_of_edits_equals_indexing_from_scratch(
    factory: CollectionFactory, edits: list[tuple[str, list[Document], int]], metric: VectorMetric, faiss: str
) -> None:
    choices = {"first_stage": "given", "first_stage_options": (f"metric={metric}",), "faiss": faiss}
    kept: dict[str, Document] = {}
    with (
        factory.empty(**choices) as edited,
        factory.empty(**choices) as scratch,
        pytest.MonkeyPatch.context() as patch,
    ):
        for kind, batch, small_tail in edits:
            snapshot_above(patch, small_tail)
            latest = {one.key: one for one in batch}
            if kind == "remove":
                edited.remove([key for key in latest if key in kept])
                kept = {key: one for key, one in kept.items() if key not in latest}
            else:
                changes = edited.index(batch, prune=kind == "prune", confirmed=True)
                assert changes.unchanged == sum(kept.get(key) == one for key, one in latest.items())
                kept = latest if kind == "prune" else kept | latest
            known = [one for one in kept.values() if one.parts[0].text.replace("zorp", "").strip()]
            expected = costs(known, QUERY, metric)
            sign = -1 if metric == "ip" else 1
            found = _shown(edited, 3)
            assert found == {key: pytest.approx(sign * value, abs=1e-6) for key, value in expected.items()}
            assert edited.info()["given_vectors"] == sum(one.vector is not None for one in kept.values())
        scratch.index(kept.values())
        assert _shown(edited, 3) == pytest.approx(_shown(scratch, 3))
        assert {one.key: one.vector for one in edited} == {one.key: one.vector for one in kept.values()}
        assert check_collection(edited.path).sentences() == ()
