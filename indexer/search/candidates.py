"""The first stage: which documents may be found, and which of them are worth a closer look."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.query import Request, Words
from moverank.indexer.search.view import LiveSegment, View
from moverank.rerank.distance.bounds import wcd_floor
from moverank.rerank.encoders.centroid import Centroid
from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.scorers.fusion import reciprocal_ranks


def is_candidate(view: View, words: Words, request: Request, gamma: float, id_: int) -> bool:
    """Say whether a document is among those that the first stage hands over, or is looked at anyway."""
    chosen = [allowed_rows(part, request) for part in view.segments]
    if narrowed(request, chosen) and not request.prove:
        chosen, _ = candidates(view, words, chosen, request, gamma)
    return any(id_ in part.segment.ids[rows] for part, rows in zip(view.segments, chosen, strict=True))


def allowed_rows(part: LiveSegment, request: Request) -> NDArray[np.int64]:
    """Return the rows that may be found."""
    live = part.live
    if request.allowed is not None:
        live = live & np.isin(part.segment.ids, request.allowed)
    if request.without is not None:
        live = live & (part.segment.ids != request.without)
    return np.flatnonzero(live)


def narrowed(request: Request, chosen: Sequence[NDArray[np.int64]]) -> bool:
    """Say whether the first stage has to choose candidates: there are more documents than wanted."""
    return request.depth is not None and request.depth < sum(map(len, chosen))


def candidates(
    view: View, words: Words, chosen: list[NDArray[np.int64]], request: Request, gamma: float
) -> tuple[list[NDArray[np.int64]], float]:
    """Cut the chosen rows down to the request's depth: the nearest by the first stage's vectors.

    Where a scorer is joined, its best are as many candidates, and the best of both rankings are kept: documents with a
    rare word of the query are not lost, but what was cut off may be as near as anything.

    Returns the rows of each segment, and a floor of the WMD of every row that was cut off: 0 where nothing is known, as
    with any vectors but centroids of the same bags.
    """
    depth = request.depth or 0
    near, floor = _nearest(view, words, chosen, depth, gamma)
    if request.joined is not None:
        scored = view.scoring.score(request.joined, gamma, words.counted())
        best, _ = scored.best(depth, request.allowed, request.without)
        near, floor = reciprocal_ranks([near, best])[0][:depth], 0.0
    parts = zip(view.segments, chosen, strict=True)
    return [rows[np.isin(part.segment.ids[rows], near)] for part, rows in parts], floor


def _nearest(
    view: View, words: Words, chosen: list[NDArray[np.int64]], depth: int, gamma: float
) -> tuple[NDArray[np.int64], float]:
    """Return the ids of the `depth` nearest by vectors, nearest first, and a floor of the WMD of all others."""
    encoder = view.encoder()
    vector = words.encoded(encoder)
    found = [
        _stage(part, rows, encoder, vector, depth, gamma) for part, rows in zip(view.segments, chosen, strict=True)
    ]
    squares = np.concatenate([squared for _, squared in found])
    kept = np.argsort(squares, kind="stable")[:depth]
    proves = isinstance(encoder, Centroid) and encoder.is_bound
    exact = proves and all(part.stage is None or part.stage.exact for part in view.segments)
    floor = 0.0
    if exact and len(kept):
        longest = max(float(part.norms.max(initial=0)) for part in view.segments)
        last = squares[kept[-1:]].astype(np.float32)
        norm = np.float32(np.linalg.norm(vector))
        floor = float(wcd_floor(last, np.array([longest], np.float32), norm, len(vector))[0])
    ids = np.concatenate([part.segment.ids[rows] for part, (rows, _) in zip(view.segments, found, strict=True)])
    return ids[kept], floor


def _stage(
    part: LiveSegment,
    rows: NDArray[np.int64],
    encoder: Encoder,
    vector: NDArray[np.float32],
    depth: int,
    gamma: float,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return up to `depth` of a segment's rows with their squared distances from the query's vector.

    Nearness by inner product is the same: vectors are of unit length then. The tail has no index: it is short, so every
    distance is computed.
    """
    if part.stage is None or len(rows) <= depth:
        return rows, np.square(part.encoded(encoder, rows, gamma) - vector).sum(axis=1)
    allowed = np.zeros(len(part.segment.ids), bool)
    allowed[rows] = True
    found = part.stage.nearest(vector, depth, lambda ids: allowed[np.searchsorted(part.segment.ids, ids)])
    return np.searchsorted(part.segment.ids, found.ids), found.squares
