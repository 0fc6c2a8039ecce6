"""Every encoder with options that make it small, and what a collection has of its encoder."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moverank import Collection
from moverank.indexer.search.view import View
from tests.indexer.stored_state import stored_ids
from tests.indexer.world import MakeCollection
from tests.installed import installed

SMALL_ENCODERS = installed(
    (
        "centroid",
        "centroid:idf=yes",
        "fisher:k=3,dim=3",
        "lsi:dim=4",
        "lda:topics=4",
        "msda:features=8",
        "ccg:extent=4,window=2",
    )
)


def with_encoder(make_collection: MakeCollection, encoder: str) -> Collection:
    """Return an empty collection whose first stage has this encoder, as `NAME:KEY=VALUE,...`."""
    name, _, options = encoder.partition(":")
    return make_collection(
        first_stage=name, first_stage_options=tuple(option for option in options.split(",") if option)
    )


def view_of(collection: Collection) -> View:
    """Return the view that a collection searches."""
    collection.search("ant")
    state = collection._states.state  # noqa: SLF001 - the view of a search is not public
    assert state is not None
    return state.searcher.view


def encoder_state(collection: Collection) -> dict[str, bytes]:
    """Return the arrays of a collection's fitted encoder."""
    return {name: array.tobytes() for name, array in view_of(collection).encoder().state().items()}


def encoded(collection: Collection, keys: Sequence[str]) -> NDArray[np.float32]:
    """Return the first-stage vectors (n, dim) of documents by key, computed by the collection's encoder."""
    view = view_of(collection)
    vectors: dict[int, NDArray[np.float32]] = {}
    for part in view.segments:
        rows = part.encoded(view.encoder(), np.arange(len(part.segment.ids)), 0.0, "tf")
        vectors |= dict(zip(part.segment.ids.tolist(), rows, strict=True))
    return np.array([vectors[id_] for id_ in stored_ids(collection, keys)])
