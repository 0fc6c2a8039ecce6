import pytest

from moverank import UsageError
from moverank.indexer.evaluation.method import NAMES, numbers, parse_method


def test_a_row_has_its_options() -> None:
    method = parse_method("pwmd:gamma=0.5,weights=tfidf,proximity=gamma")
    assert (method.label, method.name) == ("pwmd:gamma=0.5,weights=tfidf,proximity=gamma", "pwmd")
    assert (method.gamma, method.weights, method.proximity) == (0.5, "tfidf", "gamma")
    assert parse_method("bm25:k1=1.5,b=0").options == {"k1": "1.5", "b": "0"}
    assert [parse_method("pwmd").gamma, parse_method("pwmd", 0.3).gamma, parse_method("wmd", 0.3).gamma] == [
        0.75,
        0.3,
        0,
    ]


def test_a_blend_has_weights() -> None:
    blend = parse_method("0.3*bm25 + pwmd:gamma=1")
    assert [(weight, part.name) for weight, part in blend.parts] == [(0.3, "bm25"), (1.0, "pwmd")]
    assert blend.parts[1][1].gamma == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_a_row(name: str) -> None:
    assert parse_method(name).name == name


def test_numbers_stand_apart_by_commas() -> None:
    assert numbers("--grid", "0,0.5,1") == [0, 0.5, 1]
    for typed in ("", "0,x", "0,-1", "inf"):
        with pytest.raises(UsageError, match="--grid must be"):
            numbers("--grid", typed)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("cosine", "there is no method 'cosine': choose random, wmd"),
        ("bm25:k1", "is not of the form KEY=VALUE"),
        ("bm25:k9=1", "bm25 has no option 'k9'"),
        ("bm25:weights=tfidf", "bm25 has weights of its own"),
        ("lsi:dim=x", "dim must be"),
        ("wmd:k=3", "wmd has no option 'k'"),
        ("wmd:gamma=1", "wmd weighs all parts alike"),
        ("pwmd:gamma=-1", "gamma must be 0 or more"),
        ("pwmd:gamma=much", "gamma must be a number"),
        ("wmd:weights=idf", "weights must be tf or tfidf"),
        ("wmd:proximity=yes", "proximity must be one of empirical"),
        ("x*bm25", "the weight must be a number"),
        ("bm25+", "there is no method ''"),
    ],
)
def test_what_there_is_not_is_refused_in_a_sentence(typed: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("(", r"\(")):
        parse_method(typed)
