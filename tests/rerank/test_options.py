"""Parsing and validation of the options of encoders and scorers."""

import pytest

from moverank.rerank.errors import EncoderError, OptionError, ScorerError
from moverank.rerank.options import Choice, Integer, Number, Switch, check_options, did_you_mean, key_values


def test_pairs_are_split_at_the_first_equals_sign() -> None:
    assert key_values([" k = 64 ", "a=b=c", "k=7", "empty="]) == {"k": "7", "a": "b=c", "empty": ""}
    for text in ("k", "=7", " =7", ""):
        with pytest.raises(OptionError, match="is not of the form KEY=VALUE"):
            key_values([text])


def test_numbers_are_parsed_strictly() -> None:
    whole, number = Integer("k", 64, 1, 100), Number("share", 0.5, 0, 1)
    assert (whole.read({}), whole.read({"k": "7"}), whole.read({"k": "1e2"})) == (64, 7, 100)
    assert (number.read({}), number.read({"share": "1"}), number.read({"share": ".25"})) == (0.5, 1, 0.25)
    for text in ("7.5", "1_0", " 7", "", "inf", "nan", "-1", "101", "seven", "\u0667"):
        with pytest.raises(OptionError, match="k must be a whole number from 1 to 100, not"):
            whole.read({"k": text})
    with pytest.raises(OptionError, match=r"share must be a number from 0 to 1, not '1\.5'"):
        number.read({"share": "1.5"})


def test_switches_and_choices_accept_only_their_values() -> None:
    switch, choice = Switch("l2", default=True), Choice("kind", "a", ("a", "b"))
    assert (switch.read({}), switch.read({"l2": "no"}), switch.read({"l2": "yes"})) == (True, False, True)
    assert (choice.read({}), choice.read({"kind": "b"})) == ("a", "b")
    with pytest.raises(OptionError, match="l2 must be yes or no, not 'true'"):
        switch.read({"l2": "true"})
    with pytest.raises(OptionError, match="kind must be a or b, not 'c'"):
        choice.read({"kind": "c"})
    assert str(switch) == "l2 (yes or no, default yes)"
    assert str(choice) == "kind (a or b, default a)"


@pytest.mark.parametrize("error", [EncoderError, ScorerError])
def test_invalid_options_raise_the_error_of_their_owner(error: type[EncoderError | ScorerError]) -> None:
    options = (Number("b", 0.75, 0, 1), Choice("norm", "l1", ("l1", "l2")))
    check_options("bm25", options, {"b": "1", "norm": "l2"}, error)
    with pytest.raises(error, match=r"^bm25 has no option 'a': choose b \(a number from 0 to 1, default 0.75\), norm "):
        check_options("bm25", options, {"x": "1", "a": "1"}, error)
    with pytest.raises(error, match=r"^bow has no option 'a': it has none at all$"):
        check_options("bow", (), {"a": "1"}, error)
    with pytest.raises(error, match=r"^b must be a number from 0 to 1, not '1_0'$"):
        check_options("bm25", options, {"b": "1_0"}, error)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("bm26", "bm25"),
        ("BM25", "bm25"),
        ("pwdm", "pwmd"),
        ("chamfre", "chamfer"),
        ("fast", ""),
        ("", ""),
        ("x" * 99, ""),
    ],
)
def test_a_misspelt_name_is_answered_by_the_one_that_is_like_it(typed: str, expected: str) -> None:
    found = did_you_mean(typed, ["wmd", "pwmd", "chamfer", "bm25"])
    assert found == (f" (did you mean {expected}?)" if expected else "")
