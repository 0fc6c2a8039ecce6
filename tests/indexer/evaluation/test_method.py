import pytest

from moverank import UsageError
from moverank.indexer.evaluation.method import NAMES, parse_method, parse_numbers


def test_a_row_is_parsed_with_its_options() -> None:
    method = parse_method("pwmd:gamma=0.5,weights=tfidf,proximity=gamma")
    assert (method.label, method.name) == ("pwmd:gamma=0.5,weights=tfidf,proximity=gamma", "pwmd")
    assert (method.gamma, method.weights, method.proximity) == (0.5, "tfidf", "gamma")
    assert parse_method("bm25:k1=1.5,b=0").options == {"k1": "1.5", "b": "0"}
    assert [parse_method("pwmd").gamma, parse_method("pwmd", 0.3).gamma, parse_method("wmd", 0.3).gamma] == [
        0.75,
        0.3,
        0,
    ]


def test_a_blend_is_parsed_with_its_weights() -> None:
    blend = parse_method("0.3*bm25 + pwmd:gamma=1")
    assert [(weight, part.name) for weight, part in blend.parts] == [(0.3, "bm25"), (1.0, "pwmd")]
    assert blend.parts[1][1].gamma == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_a_valid_row(name: str) -> None:
    assert parse_method(name).name == name


def test_numbers_are_separated_by_commas() -> None:
    assert parse_numbers("--grid", "0,0.5,1") == [0, 0.5, 1]
    for text in ("", "0,x", "0,-1", "inf"):
        with pytest.raises(UsageError, match="--grid must be"):
            parse_numbers("--grid", text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cosine", "there is no method 'cosine': choose random, wmd"),
        ("bm25:k1", "the method 'bm25:k1': 'k1' is not of the form KEY=VALUE"),
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
def test_invalid_rows_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        parse_method(text)
