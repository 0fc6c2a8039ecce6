import pytest

from moverank.indexer.errors import UsageError
from moverank.indexer.vectors.word2vec_training import training_options


def test_options_are_parsed_as_their_type() -> None:
    assert training_options("cbow", ["dim=50", "subsample=1e-4", "seed=0"]) == {"dim": 50, "subsample": 1e-4, "seed": 0}
    assert training_options("lsi", []) == {}
    assert training_options("lsi", ["dim=2", "dim=3"]) == {"dim": 3}


@pytest.mark.parametrize(
    ("method", "pair", "sentence"),
    [
        (
            "cbow",
            "dimension=50",
            "'dimension=50' is no option of cbow training: write KEY=VALUE with dim, min_count, seed, ",
        ),
        ("lsi", "window=5", "no option of lsi training: write KEY=VALUE with dim, min_count, seed$"),
        ("lsi", "dim", "no option of lsi training"),
        ("skip-gram", "dim=x", "'dim=x': dim must be a whole number of 1 or more, at most 10000"),
        ("skip-gram", "dim=2.5", "dim must be a whole number"),
        ("skip-gram", "epochs=0", "epochs must be a whole number of 1 or more$"),
        ("skip-gram", "subsample=nan", "subsample must be a number of 0 or more, at most 1"),
        ("skip-gram", "subsample=2", "subsample must be a number"),
        ("glove", "dim=2", "no training by 'glove': choose one of skip-gram, cbow, lsi"),
    ],
)
def test_invalid_options_are_refused_in_one_sentence(method: str, pair: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        training_options(method, [pair])
