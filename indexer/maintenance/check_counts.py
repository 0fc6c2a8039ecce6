"""Checks stored word counts, of many parts at once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.rerank.bags.title_rank import TITLE


def valid_counts(
    parts: Sequence[Any], exists: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int32]]:
    """Return which parts (p,) have valid counts, and the words of those: rows (n,) of `parts`, and ids (n,).

    Counts are valid if the rank is, and the words are increasing ids that exist (`exists`, by id), each with a positive
    count.
    """
    sizes, others, positions, ranks = (
        (
            np.array(values, np.int64).reshape(-1)
            for values in zip(
                *((len(one.words), len(one.counts), one.position, one.rank) for one in parts), strict=True
            )
        )
        if parts
        else (np.empty(0, np.int64),) * 4
    )
    valid = (sizes % 4 == 0) & (sizes == others) & (ranks >= np.where(positions < 0, TITLE, 0))
    shaped = [part for part, usable in zip(parts, valid.tolist(), strict=True) if usable]
    words = np.frombuffer(b"".join(part.words for part in shaped), "<i4")
    counts = np.frombuffer(b"".join(part.counts for part in shaped), "<i4")
    rows = np.repeat(np.arange(len(parts)), np.where(valid, sizes // 4, 0))
    wrong = (words < 0) | (words >= len(exists)) | (counts <= 0)
    wrong |= ~exists[np.where(wrong, 0, words)]
    wrong[1:] |= (words[1:] <= words[:-1]) & (rows[1:] == rows[:-1])
    valid[rows[wrong]] = False
    kept = valid[rows]
    return valid, rows[kept], words[kept]
