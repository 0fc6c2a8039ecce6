"""The first stage: which documents may be found, and which of them are worth a closer look."""

import numpy as np
from numpy.typing import NDArray

from indexer.request import Request, Words
from indexer.view import LiveSegment, View
from rerank.bounds import wcd_floor
from rerank.encoders.centroid import centroids


def is_candidate(view: View, words: Words, request: Request, gamma: float, id_: int) -> bool:
    """Say whether a document is among those that the first stage hands over, or is looked at anyway."""
    chosen = [allowed_rows(part, request) for part in view.segments]
    if request.depth is not None and not request.prove and request.depth < sum(map(len, chosen)):
        chosen, _ = candidates(view, words, chosen, request.depth, gamma)
    return any(id_ in part.segment.ids[rows] for part, rows in zip(view.segments, chosen, strict=True))


def allowed_rows(part: LiveSegment, request: Request) -> NDArray[np.int64]:
    """Return the rows that may be found."""
    live = part.live
    if request.allowed is not None:
        live = live & np.isin(part.segment.ids, request.allowed)
    if request.without is not None:
        live = live & (part.segment.ids != request.without)
    return np.flatnonzero(live)


def candidates(
    view: View, words: Words, chosen: list[NDArray[np.int64]], depth: int, gamma: float
) -> tuple[list[NDArray[np.int64]], float]:
    """Cut the chosen rows down to the `depth` nearest by centroid.

    Returns the rows of each segment, and a floor of the WMD of every row that was cut off: 0 where nothing is known.
    """
    centroid = words.centroid()
    found = [_stage(part, rows, centroid, depth, gamma) for part, rows in zip(view.segments, chosen, strict=True)]
    squares = np.concatenate([squared for _, squared in found])
    kept = np.argsort(squares, kind="stable")[:depth]
    origin = np.repeat(np.arange(len(found)), [len(rows) for rows, _ in found])
    rows = np.concatenate([rows for rows, _ in found])
    exact = all(part.stage is None or part.stage.exact for part in view.segments)
    floor = 0.0
    if exact and len(kept):
        longest = max(float(part.norms.max(initial=0)) for part in view.segments)
        last = squares[kept[-1:]].astype(np.float32)
        norm = np.float32(np.linalg.norm(centroid))
        floor = float(wcd_floor(last, np.array([longest], np.float32), norm, len(centroid))[0])
    return [np.sort(rows[kept[origin[kept] == i]]) for i in range(len(found))], floor


def _stage(
    part: LiveSegment, rows: NDArray[np.int64], centroid: NDArray[np.float32], depth: int, gamma: float
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return up to `depth` of a segment's rows with their squared distances from the query's centroid.

    The tail has no index: it is short, so every distance is computed.
    """
    if part.stage is None or len(rows) <= depth:
        means = centroids(part.bags(rows, gamma), part.segment.vectors)
        return rows, np.square(means - centroid).sum(axis=1)
    allowed = np.zeros(len(part.segment.ids), bool)
    allowed[rows] = True
    found = part.stage.nearest(centroid, depth, lambda ids: allowed[np.searchsorted(part.segment.ids, ids)])
    return np.searchsorted(part.segment.ids, found.ids), found.squares
