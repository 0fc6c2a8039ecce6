"""Numbers of words: both ways number the words of the tokenizer in the order of their first occurrence."""

import string
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank.words import word_numbers
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.word_numbers import FewWords, ManyWords, WordNumbers

_STOP_WORDS = frozenset(["the", "é", "a", "0"])
_MAKERS = pytest.mark.parametrize("make", [FewWords, ManyWords])
_TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text(string.printable + "éÉßİ\u0301\u212a東")

Make = Callable[[Tokenizer], WordNumbers]


def _check(numbers: WordNumbers, expected: dict[str, int], texts: Sequence[str]) -> None:
    """Number texts, and compare the numbers with those of a plain dictionary, which is filled."""
    blocks = list(numbers.number(texts))
    words = [Tokenizer(_STOP_WORDS).words(text) for text in texts]
    counted = [Counter(expected.setdefault(word, len(expected)) for word in each) for each in words]
    assert [number for block in blocks for number in block.numbers.tolist()] == [i for each in counted for i in each]
    assert [n for block in blocks for n in block.counts.tolist()] == [n for each in counted for n in each.values()]
    assert [length for block in blocks for length in block.lengths.tolist()] == list(map(len, counted))
    assert len(numbers) == len(expected)
    assert numbers.since(0) == list(expected)


@_MAKERS
@given(st.lists(st.lists(_TEXTS, max_size=5), max_size=4), st.sampled_from([1, 7, 1000]))
def test_words_are_numbered_in_the_order_of_their_first_occurrence(
    make: Make, batches: Sequence[Sequence[str]], block: int
) -> None:
    numbers, expected = make(Tokenizer(_STOP_WORDS)), dict[str, int]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_numbers, "_BLOCK", block)
        for texts in batches:
            _check(numbers, expected, texts)


@_MAKERS
def test_tables_grow(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_numbers, "_FIRST_WORDS", 4)
    monkeypatch.setattr(word_numbers, "_FIRST_BYTES", 8)
    numbers, expected = make(Tokenizer(_STOP_WORDS)), dict[str, int]()
    rng = np.random.default_rng(3)
    for _ in range(5):
        words = ["".join(rng.choice(list("abcXYZ09é-"), rng.integers(1, 9))) for _ in range(2000)]
        _check(numbers, expected, [" ".join(words[i : i + 50]) for i in range(0, 2000, 50)])
    _check(numbers, expected, ["x" * 5000, "The a"])


@_MAKERS
def test_words_can_be_added_as_they_are(make: Make) -> None:
    numbers = make(Tokenizer(_STOP_WORDS))
    (block,) = numbers.number(["b c"])
    assert block.numbers.tolist() == [0, 1]
    assert numbers.add(["c", "Not One", "b", "ünd"]).tolist() == [1, 2, 0, 3]
    assert numbers.add([]).tolist() == []
    assert (numbers.since(1), numbers.since(4)) == (["c", "Not One", "ünd"], [])
    (block,) = numbers.number(["ünd the d"])
    assert block.numbers.tolist() == [3, 4]


@_MAKERS
def test_no_texts_have_no_words(make: Make) -> None:
    assert list(make(Tokenizer()).number([])) == []
    (block,) = make(Tokenizer()).number(["", " - "])
    assert (block.numbers.tolist(), block.counts.tolist(), block.lengths.tolist()) == ([], [], [0, 0])
