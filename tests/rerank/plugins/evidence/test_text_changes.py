"""Changes between two versions against counts of words, the longest common run by brute force, and a matching."""

import json
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from moverank.rerank.errors import NoKnownWords
from moverank.rerank.plugins.evidence.allowed_arcs import UnitText
from moverank.rerank.plugins.evidence.text_changes import TextChanges, changes_of
from moverank.rerank.ranking import Span
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.unit import Unit
from tests.rerank.plugins.evidence.test_evidence import EMBEDDING, TAU, TOKENIZER, WORDS

_PAIR = {word: i // 2 for i, word in enumerate(WORDS)}
_TEXTS = st.lists(st.sampled_from([*WORDS, "zorp", "5 mg", "not", "."]), max_size=12).map(" ".join)


def _changes(old: str, new: str) -> TextChanges:
    return changes_of([(0, old)], [(0, new)], TOKENIZER, EMBEDDING, TAU)


@given(_TEXTS, _TEXTS)
def test_states_count_each_unit_once_and_carry_as_much_as_possible(old: str, new: str) -> None:
    mine, theirs = _tokens(old), _tokens(new)
    if all(one.kind == "name" for one in (*mine, *theirs)):
        return
    changes = _changes(old, new)
    counts = changes.counts
    words = [[one.key for one in some if one.kind == "word"] for some in (mine, theirs)]
    assert counts["kept"] + counts["moved"] + counts["changed"] + counts["new"] == len(theirs)
    assert counts["kept"] + counts["moved"] + counts["changed"] + counts["dropped"] == len(mine)
    for one in changes.changes:
        if one.state in ("kept", "moved"):
            assert one.old
            assert one.new
            assert old[one.old.start : one.old.end].split() == new[one.new.start : one.new.end].split()
    left = [[one.key for one in some if one.kind == "word"] for some in _unpaired(mine, theirs, changes)]
    assert not Counter(left[0]) & Counter(left[1])
    assert (Counter(words[0]) & Counter(words[1])).total() <= counts["kept"] + counts["moved"]
    assert counts["changed"] == _most_changed(old, new, changes)
    assert changes.certified
    assert TextChanges.from_dict(json.loads(json.dumps(changes.to_dict()))) == changes


def _tokens(text: str) -> list[Unit]:
    return list(UnitText.tokens([(0, text)], TOKENIZER).units)


def _unpaired(mine: list[Unit], theirs: list[Unit], changes: TextChanges) -> tuple[list[Unit], list[Unit]]:
    """Return the units of both versions that are neither kept nor moved."""
    paired = [one for one in changes.changes if one.state in ("kept", "moved")]
    olds, news = ([span for one in paired if (span := getattr(one, side))] for side in ("old", "new"))
    both = zip((mine, theirs), (olds, news), strict=True)
    left = [[one for one in units if not any(s.start <= one.start < s.end for s in spans)] for units, spans in both]
    return left[0], left[1]


def _most_changed(old: str, new: str, changes: TextChanges) -> int:
    """Return the size of the largest matching of near words that both follow, or both precede, the same pair."""
    mine, theirs = _tokens(old), _tokens(new)
    partner = dict[int, int]()
    for one in changes.changes:
        if one.state in ("kept", "moved"):
            i, j = _first(mine, one.old), _first(theirs, one.new)
            partner |= {i + step: j + step for step in range(one.units)}
    left = [i for i in range(len(mine)) if i not in partner]
    right = [j for j in range(len(theirs)) if j not in partner.values()]
    if not (left and right):
        return 0

    def around(place: int, paired: dict[int, int], end: int) -> tuple[int, int]:
        before, after = [k for k in paired if k < place], [k for k in paired if k > place]
        return paired[max(before)] if before else -1, paired[min(after)] if after else end

    own = {j: j for j in partner.values()}
    allowed = np.zeros((len(left), len(right)), int)
    for a, i in enumerate(left):
        for b, j in enumerate(right):
            sides = zip(around(i, partner, len(theirs)), around(j, own, len(theirs)), strict=True)
            word, other = mine[i], theirs[j]
            same_kind = word.kind == other.kind == "word"
            allowed[a, b] = any(one == two for one, two in sides) and same_kind and _near(word.value, other.value)
    return int((maximum_bipartite_matching(csr_array(allowed), perm_type="column") >= 0).sum())


def _first(units: list[Unit], span: Span | None) -> int:
    assert span is not None
    return next(k for k, unit in enumerate(units) if unit.start == span.start)


def _near(one: str, other: str) -> bool:
    return _PAIR.get(one, -1) == _PAIR.get(other, -2)


@given(st.permutations(WORDS[:7]))
def test_words_outside_the_longest_run_in_order_are_moved(new: list[str]) -> None:
    order = [WORDS.index(word) for word in new]
    longest = max(size for size in range(1, 8) if any(list(some) == sorted(some) for some in combinations(order, size)))
    counts = _changes(" ".join(WORDS[:7]), " ".join(new)).counts
    assert (counts["kept"], counts["moved"]) == (longest, 7 - longest)


def _shown(old: str, new: str) -> list[tuple[str, str, str]]:
    return [
        (
            one.state,
            "" if one.old is None else old[one.old.start : one.old.end],
            "" if one.new is None else new[one.new.start : one.new.end],
        )
        for one in _changes(old, new).changes
    ]


def test_equal_texts_are_kept_as_one_run() -> None:
    assert _shown("The cat sleeps. A dog.", "The cat sleeps. A dog.") == [
        ("kept", "The cat sleeps. A dog.", "The cat sleeps. A dog.")
    ]


def test_a_sentence_moves_as_a_whole() -> None:
    first, second, third = "A cat naps.", "A dog sleeps, a truck and a car.", "A useful kitten sleeps."
    found = _shown(f"{first} {second} {third}", f"{third} {first} {second}")
    assert ("moved", third, third) in found
    assert [state for state, *_ in found] == ["moved", "kept"]


def test_changed_new_and_dropped_are_in_place() -> None:
    assert _shown("cat sleeps zorp car", "kitten sleeps car p53") == [
        ("changed", "cat", "kitten"),
        ("kept", "sleeps", "sleeps"),
        ("dropped", "zorp", ""),
        ("kept", "car", "car"),
        ("new", "", "p53"),
    ]


def test_a_number_and_a_negation_do_not_change_into_another() -> None:
    assert _shown("5 mg", "6 mg") == [("dropped", "5", ""), ("new", "", "6"), ("kept", "mg", "mg")]
    assert _shown("is effective", "is not effective")[1] == ("new", "", "not")


@pytest.mark.parametrize(
    ("old", "new", "dropped", "added"),
    [
        ("The tenant may pay.", "The tenant must pay.", "may", "must"),
        ("It costs at least 5.", "It costs at most 5.", "least", "most"),
        ("p < 5", "p > 5", "<", ">"),
        ("It is.", "It is not.", "is.", "is not."),
        ("the p53 gene", "the q53 gene", "p53", "q53"),
        ("Version 3.10 runs.", "Version 3.1 runs.", "3.10", "3.1"),
        ("The dog, the cat.", "The dog; the cat.", "dog,", "dog;"),
        ("He pays in May today.", "He pays in may today.", "May", "may"),
    ],
)
def test_no_changed_word_or_sign_is_hidden(old: str, new: str, dropped: str, added: str) -> None:
    found = _shown(old, new)
    assert dropped in [before for state, before, _ in found if state != "kept"]
    assert added in [after for state, _, after in found if state != "kept"]


def test_another_word_with_the_same_vector_is_changed() -> None:
    embedding = Embedding.of(["ano", "a\u00f1o", "cat"], [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    changes = changes_of([(0, "cat ano")], [(0, "cat a\u00f1o")], TOKENIZER, embedding, 0.0)
    assert [(one.state, one.cost) for one in changes.changes] == [("kept", 0.0), ("changed", 0.0)]


def test_a_large_gap_without_unique_runs_is_paired_in_order() -> None:
    changes = _changes("cat dog " * 250, "cat car " * 250)
    assert changes.counts == {"kept": 250, "moved": 0, "changed": 0, "new": 250, "dropped": 250}


def test_of_several_occurrences_the_one_in_place_is_changed() -> None:
    found = _shown("cat. zorp car zorp. cat zorp. truck", "cat. zorp car zorp. kitten zorp. truck")
    assert [one for one in found if one[0] != "kept"] == [("changed", "cat", "kitten")]


def test_a_near_word_elsewhere_is_not_the_same_word_changed() -> None:
    found = _shown("cat zorp p53 useful", "zorp p53 kitten useful")
    assert [one for one in found if one[0] != "kept"] == [("dropped", "cat", ""), ("new", "", "kitten")]


def test_a_word_is_changed_within_a_sentence_that_moved() -> None:
    found = _shown("Zorp cat p53. A dog and car. A truck naps.", "A dog and car. A truck naps. Zorp kitten p53.")
    assert ("changed", "cat", "kitten") in found


def test_one_version_may_be_empty() -> None:
    assert _changes("", "cat dog").counts["new"] == 2
    assert _changes("cat dog", "").counts["dropped"] == 2
    assert _changes("cat dog", "").carried == 0.0
    with pytest.raises(NoKnownWords, match="neither version has a word"):
        _changes("", " ")


def test_large_documents_are_compared() -> None:
    rng = np.random.default_rng(0)
    words = ["w" + "".join(chr(97 + int(digit)) for digit in str(i)) for i in range(2000)]
    old = rng.choice(words, 10_000).tolist()
    new = old[5000:] + old[:5000] + ["zorp"]
    changes = _changes(" ".join(old), " ".join(new))
    assert changes.counts == {"kept": 5000, "moved": 5000, "changed": 0, "new": 1, "dropped": 0}
