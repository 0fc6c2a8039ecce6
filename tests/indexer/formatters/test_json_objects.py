import json
import math

import pytest

from moverank.indexer.values.documents import Changes
from moverank.rerank.distance.explain import WhyNot


def test_changes_have_the_public_keys() -> None:
    assert Changes(added=2, revision=3).to_dict() == {
        "added": 2,
        "updated": 0,
        "removed": 0,
        "unchanged": 0,
        "wordless": 0,
        "rejected": 0,
        "kept": 0,
        "unread": 0,
        "duplicates": 0,
        "revision": 3,
        "coverage": None,
        "trained_seconds": None,
        "events": 0,
    }


@pytest.mark.parametrize("kth", [0.45, math.inf])
def test_an_infinite_distance_of_the_last_hit_is_null(kth: float) -> None:
    why = WhyNot.of(3, kth, 0.7, {"rwmd": 0.4, "dual": 0.5, "sinkhorn": 0.6}, candidate=True, hit=False)
    values = why.to_dict()
    assert list(values) == ["k", "kth", "distance", "bounds", "stage"]
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert values["kth"] == (kth if kth == 0.45 else None)
