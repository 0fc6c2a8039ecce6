"""Notes on how many distances an experiment takes, before it starts."""

import logging
from collections.abc import Sequence

from moverank.indexer.evaluation.method import Method
from moverank.rerank.evaluation.splits import FIT_SHARE, Split

LONG = 500_000
"""Number of distances that takes a minute or more, although bounds exclude most of them."""

_log = logging.getLogger("moverank")


def note_workload(methods: Sequence[Method], pairs: int, described: str) -> None:
    """Report the number of `pairs` of a query and a document, `described` in words, if ranking all of them takes long.

    Only distances with transport count; of these, bounds exclude most. Those that mutual proximity needs are reported
    where they are computed.
    """
    count = sum(bool(method.ranking and method.ranking.has_transport) for method in methods)
    if count * pairs >= LONG:
        by = f"by each of {count} methods" if count > 1 else "by one method"
        _log.warning("%s distances %s (%s): bounds exclude most of them", f"{pairs:,}", by, described)


def pairs_of(splits: Sequence[Split], k: int | None) -> int:
    """Return the number of pairs of a test and a training document; without `k`, also those to choose it."""
    pairs = sum(len(split.test) * len(split.train) for split in splits)
    share = 0.0 if k else FIT_SHARE * (1 - FIT_SHARE)
    return pairs + round(sum(share * len(split.train) ** 2 for split in splits))
