import json
import math

import pytest

from moverank.indexer.documents import Changes
from moverank.indexer.formatters.json_objects import changes_object, explanation_object, ranking_object, why_not_object
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.distance.why_not import WhyNot
from moverank.rerank.ranking import Hit, Ranking
from tests.indexer.formatters.samples import FLOWS, RANKING


def test_a_ranking_has_the_public_keys() -> None:
    values = ranking_object(RANKING, 0.1234567)
    assert list(values) == ["hits", "certified", "scope", "largest_error", "counts", "seconds", "ranking"]
    assert values["counts"] == {"candidates": 1200, "rwmd": 1190, "dual": 5, "sinkhorn": 2, "solved": 3}
    hit = values["hits"][0]
    assert (hit["rank"], hit["key"], hit["title"], hit["distance"]) == (1, "key/1", "Title", 1.25)
    assert hit["score"] == pytest.approx(1 / 2.25)
    assert hit["flows"][0] == {"source": "cat", "target": "dog", "mass": 0.5, "cost": 2.0, "share": 0.8}
    assert values["seconds"] == 0.123457
    assert json.loads(json.dumps(values)) == values


def test_the_query_id_comes_first_and_flows_are_optional() -> None:
    values = ranking_object(Ranking((Hit("k", 1.0),), certified=False, scope="candidates"), 1.0, "q7")
    assert next(iter(values)) == "query"
    assert values["query"] == "q7"
    assert "flows" not in values["hits"][0]


def test_explanations_and_changes_have_the_public_keys() -> None:
    values = explanation_object(Explanation(1.25, FLOWS))
    assert list(values) == ["distance", "flows", "unknown_words", "ignored_words"]
    assert [list(flow) for flow in values["flows"]] == [["source", "target", "mass", "cost", "share"]] * 3
    assert changes_object(Changes(added=2, revision=3)) == {
        "added": 2,
        "updated": 0,
        "removed": 0,
        "unchanged": 0,
        "wordless": 0,
        "rejected": 0,
        "kept": 0,
        "revision": 3,
        "coverage": None,
        "trained_seconds": None,
    }


@pytest.mark.parametrize("kth", [0.45, math.inf])
def test_an_infinite_distance_of_the_last_hit_is_null(kth: float) -> None:
    why = WhyNot.of(3, kth, 0.7, {"rwmd": 0.4, "dual": 0.5, "sinkhorn": 0.6}, candidate=True, hit=False)
    values = why_not_object(why)["why_not"]
    assert list(values) == ["k", "kth", "distance", "bounds", "stage"]
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values["kth"] == (kth if kth == 0.45 else None)
