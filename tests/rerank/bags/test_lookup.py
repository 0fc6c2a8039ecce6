"""Lookups agree with a dictionary."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.bags.bag import lookup

IDS = st.integers(-5, 20)


@given(st.lists(IDS), st.sets(IDS))
def test_ids_are_found_at_their_indices(ids: list[int], among: set[int]) -> None:
    increasing = sorted(among)
    indices, present = lookup(np.array(ids, np.int64), np.array(increasing, np.int64))
    index_of = {id_: index for index, id_ in enumerate(increasing)}
    assert present.tolist() == [id_ in index_of for id_ in ids]
    assert indices[present].tolist() == [index_of[id_] for id_ in ids if id_ in index_of]
