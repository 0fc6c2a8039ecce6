from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from moverank.indexer.search.caches import DerivedTable, cached_table
from moverank.rerank.words.term_rules import TermTexts, WordTerms

IDS = np.array([2, 5, 9])
WORDS = {2: "connected", 5: "über", 9: "dogs", 11: "cats"}


class Texts:
    """Counts how often words are read."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, ids: NDArray[np.int64]) -> Sequence[str]:
        self.calls += 1
        return [WORDS[id_] for id_ in ids.tolist()]


def _stems(table: DerivedTable) -> list[str]:
    return [table.terms[number] for number in table.of_words.terms.tolist()]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4)), st.booleans())
def test_stems_are_found_by_their_texts(stems: list[str], many: bool) -> None:
    table = DerivedTable.of(TermTexts(stems, np.arange(len(stems) + 1)))
    assert _stems(table) == stems
    assert len(table.terms) == len(set(stems))
    asked = [*stems, "missing", ""] + ["missing"] * (500 if many else 0)
    expected = dict(zip(stems, table.of_words.terms.tolist(), strict=True))
    assert table.terms.find(asked).tolist() == [expected.get(stem, -1) for stem in asked]


def test_stems_are_computed_once_for_a_vocabulary_and_a_language(tmp_path: Path) -> None:
    texts = Texts()
    for _ in range(3):
        assert _stems(cached_table(tmp_path, "english", IDS, texts)) == ["connect", "über", "dog"]
    assert texts.calls == 1
    assert _stems(cached_table(tmp_path, "english", np.array([2, 11]), texts)) == ["connect", "cat"]
    assert _stems(cached_table(tmp_path, "german", IDS, texts))[2] == "dog"
    assert _stems(cached_table(tmp_path, "english", np.empty(0, np.int64), texts)) == []
    assert texts.calls == 4


def test_letters_are_computed_once_and_a_file_of_stems_is_not_taken_for_them(tmp_path: Path) -> None:
    texts, tables = Texts(), list[DerivedTable]()
    for _ in range(2):
        tables.append(cached_table(tmp_path, "ngrams=3", IDS, texts))
        assert _stems(tables[-1]) == ["con", "onn", "nne", "nec", "ect", "cte", "ted", "übe", "ber", "dog", "ogs"]
        assert tables[-1].of_words.lengths.tolist() == [7, 2, 2]
    assert texts.calls == 1
    cached_table(tmp_path, "english", IDS, texts)
    path = tmp_path / "cached-stems-ngrams=3"
    path.write_bytes((tmp_path / "cached-stems-english").read_bytes())
    assert _stems(cached_table(tmp_path, "ngrams=3", IDS, texts)) == _stems(tables[0])
    starts = np.array([0, 7, 12, 11])  # its checksum would be valid
    assert not replace(tables[0], of_words=WordTerms(tables[0].of_words.terms, starts)).is_valid(3)


def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    texts = Texts()
    expected = _stems(cached_table(tmp_path, "english", IDS, texts))
    path = tmp_path / "cached-stems-english"
    intact = path.read_bytes()
    for damaged in (b"", intact[:-1], intact[:-3] + b"cat", intact[:70]):
        path.write_bytes(damaged)
        assert _stems(cached_table(tmp_path, "english", IDS, texts)) == expected
        assert path.read_bytes() == intact


def test_without_a_directory_nothing_is_cached(tmp_path: Path) -> None:
    texts = Texts()
    for directory in (None, tmp_path / "gone"):
        for _ in range(2):
            assert len(cached_table(directory, "english", IDS, texts).of_words) == 3
    assert texts.calls == 4
