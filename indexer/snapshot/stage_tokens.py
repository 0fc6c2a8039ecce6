"""Numbers of tokens by rank: of a document, packed into bytes, and of all documents, for the mean length at any gamma.

A rank counts by its distance from the best rank of its document (see `bags.weights.weigh`), so totals are kept by both.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from moverank.indexer.store import CountedPart
from moverank.rerank.bags.weights import TITLE

Totals = Mapping[str, int]
"""Numbers of tokens by "BEST:RANK", the best rank of a document and that of a part."""


def packed_tokens(parts: Iterable[CountedPart]) -> bytes:
    """Return the tokens of one document: pairs of a rank and its number of tokens, as int32."""
    tokens = Counter[int]()
    for part in parts:
        if part.counts:
            tokens[part.rank] += int(np.frombuffer(part.counts, "<i4").sum())
    return np.array(sorted(tokens.items()), "<i4").tobytes()


def totals_of(documents: Iterable[bytes]) -> Counter[str]:
    """Return the sums of the tokens of documents, as `packed_tokens` returns each."""
    totals = Counter[str]()
    for packed in documents:
        pairs = np.frombuffer(packed, "<i4").reshape(-1, 2).tolist()
        best = min((max(rank, 0) for rank, _ in pairs), default=0)
        for rank, tokens in pairs:
            totals[f"{best}:{rank}"] += tokens
    return totals


def weighted_total(totals: Totals, gamma: float, title_weight: float) -> float:
    """Return the number of all tokens, weighted by rank, those of titles by `title_weight`."""
    total = 0.0
    for name, tokens in totals.items():
        best, rank = map(int, name.split(":"))
        share = ((1 + best) / (1 + max(rank, 0))) ** gamma
        total += tokens * share * (title_weight if rank == TITLE else 1.0)
    return total


def documents_of(parts: Iterable[CountedPart], size: int) -> Iterable[Sequence[CountedPart]]:
    """Split parts, ordered by document, into lists of whole documents with about `size` parts."""
    some: list[CountedPart] = []
    for part in parts:
        if len(some) >= size and part.document_id != some[-1].document_id:
            yield some
            some = []
        some.append(part)
    if some:
        yield some


def tokens_by_document(parts: Sequence[CountedPart]) -> dict[int, bytes]:
    """Return the packed tokens of each document of parts, which are ordered by document."""
    ids = np.array([part.document_id for part in parts])
    ends = [0, *(np.flatnonzero(np.diff(ids)) + 1).tolist(), len(parts)] if len(parts) else []
    return {parts[start].document_id: packed_tokens(parts[start:end]) for start, end in pairwise(ends)}
