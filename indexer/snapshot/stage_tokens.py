"""Numbers of tokens by rank: of a document, packed into bytes, and of all documents.

They give the mean length of documents at any gamma, and the share of tokens with a vector. A rank counts relative to
the best rank of its document (see `bags.weights.weigh`), so totals are kept by both.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.store import CountedPart
from moverank.rerank.bags.lookup import lookup
from moverank.rerank.bags.title_rank import TITLE

Totals = Mapping[str, int]
"""Numbers of tokens by "BEST:RANK", the best rank of a document and that of a part, and of all that are `KNOWN`."""

KNOWN = "known"
"""The name of the number of tokens with a vector."""


def _packed(parts: Iterable[CountedPart], known: NDArray[np.int64]) -> bytes:
    """Return the tokens of one document: a rank, its tokens, and those with a vector, for each rank, as int32."""
    tokens = dict[int, tuple[int, int]]()
    for part in parts:
        words, counts = np.frombuffer(part.words, "<i4"), np.frombuffer(part.counts, "<i4")
        if len(counts):
            all_before, known_before = tokens.get(part.rank, (0, 0))
            with_vector = lookup(words.astype(np.int64), known)[1]
            tokens[part.rank] = all_before + int(counts.sum()), known_before + int(counts[with_vector].sum())
    return np.array([(rank, *own) for rank, own in sorted(tokens.items())], "<i4").tobytes()


def totals_of(documents: Iterable[bytes]) -> Counter[str]:
    """Return the sums of the tokens of documents, as `tokens_by_document` returns each."""
    totals = Counter[str]()
    for packed in documents:
        ranks = np.frombuffer(packed, "<i4").reshape(-1, 3).tolist()
        best = min((max(rank, 0) for rank, _, _ in ranks), default=0)
        for rank, tokens, known in ranks:
            totals[f"{best}:{rank}"] += tokens
            totals[KNOWN] += known
    return totals


def weighted_total(totals: Totals, gamma: float, title_weight: float) -> float:
    """Return the number of all tokens, weighted by rank, those of titles by `title_weight`."""
    total = 0.0
    for name, tokens in totals.items():
        if name == KNOWN:
            continue
        best, rank = map(int, name.split(":"))
        share = ((1 + best) / (1 + max(rank, 0))) ** gamma
        total += tokens * share * (title_weight if rank == TITLE else 1.0)
    return total


def tokens_by_document(parts: Sequence[CountedPart], known: NDArray[np.int64]) -> dict[int, bytes]:
    """Return the packed tokens of each document of parts, which are ordered by document.

    `known` (v,), increasing, are the ids of words with a vector.
    """
    ids = np.array([part.document_id for part in parts])
    ends = [0, *(np.flatnonzero(np.diff(ids)) + 1).tolist(), len(parts)] if len(parts) else []
    return {parts[start].document_id: _packed(parts[start:end], known) for start, end in pairwise(ends)}
