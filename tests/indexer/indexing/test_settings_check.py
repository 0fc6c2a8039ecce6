"""Training options that are invalid for the setting of `embedding`."""

import pytest

from moverank import UsageError
from moverank.indexer.indexing.creation import check_training


@pytest.mark.parametrize(
    ("embedding", "options"),
    [
        ("auto", ("dim=3",)),
        ("vectors.bin", ("dim=3",)),
        ("lsi", ("window=3",)),
        ("lsi", ("dim=none",)),
        ("train", ("method=glove",)),
        ("train", ("dim=0",)),
    ],
)
def test_invalid_training_options_are_refused(embedding: str, options: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        check_training(embedding, options)
