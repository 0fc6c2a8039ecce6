import pytest

from moverank import UsageError
from moverank.indexer.plugins.laboratory.method import parse_method, parse_numbers
from moverank.indexer.values.ranking_spec import own_ranking, resolve


def test_a_row_is_a_ranking_perhaps_with_proximity() -> None:
    method = parse_method("rwmd:gamma=0.5,proximity=gamma,weights=tfidf")
    assert (method.label, method.proximity) == ("rwmd:gamma=0.5,proximity=gamma,weights=tfidf", "gamma")
    assert method.ranking == parse_method("rwmd:gamma=0.5,weights=tfidf").ranking
    assert parse_method("bow:proximity=gaussian").ranking == parse_method("bow").ranking
    transport = parse_method("wmd:proximity=gaussian")
    assert (transport.ranking and transport.ranking.proximity, transport.proximity) == ("gaussian", None)
    assert transport.has_proximity
    assert method.has_proximity
    assert not parse_method("wmd").has_proximity
    assert parse_method("random").is_random
    assert str(parse_method("0.3*bm25 + pwmd:gamma=1").ranking) == "0.3*bm25+pwmd:gamma=1"


@pytest.mark.parametrize("name", ["pwmd", "bm25", "wmd", "rwmd"])
def test_a_row_ranks_by_the_defaults_of_the_collection(name: str) -> None:
    own = own_ranking("chamfer", 0.3, "tfidf")
    assert parse_method(name, own).ranking == resolve(name, None, own)


def test_numbers_are_separated_by_commas() -> None:
    assert parse_numbers("--grid", "0,0.5,1") == [0, 0.5, 1]
    for text in ("", "0,x", "0,-1", "inf"):
        with pytest.raises(UsageError, match="--grid must be"):
            parse_numbers("--grid", text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cosinus", "there is no ranking 'cosinus' .did you mean cosine\\?.: choose auto"),
        ("bm25:k9=1", "bm25 has no option 'k9'"),
        ("lsi:dim=x", "dim must be"),
        ("wmd:proximity=yes", "proximity must be one of empirical"),
        ("rwmd:proximity=gaussian+bm25", "a sum has mutual proximity only by wmd or pwmd"),
        ("bm25+", "there is no ranking 'bm25+'"),
    ],
)
def test_invalid_rows_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("+", r"\+")):
        parse_method(text)
