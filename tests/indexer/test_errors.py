"""Errors cross the border of a process whole."""

import pickle
from pathlib import Path

import pytest

from moverank.indexer.errors import DamagedFile, IndexerError, PruneRefused, RecordError, UnknownKey
from moverank.indexer.values.documents import Changes


@pytest.mark.parametrize(
    "error",
    [
        DamagedFile(Path("a"), "is short"),
        PruneRefused("too many", Changes(rejected=2)),
        RecordError("line 3: no text"),
        UnknownKey("no document 'x'"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_can_be_pickled(error: IndexerError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
