"""Misspelt words of a query: the nearest stored words by a distance written as a loop, and searches for them."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document, Part, Settings
from moverank.indexer.search.spellings import LONGEST_TYPED, Spellings, without_marks
from tests.benchmarks.typing_errors import filled as filled_set
from tests.benchmarks.typing_errors import kinds_of, mrr, questions_of
from tests.samples import examples

TEXTS = {
    "washer": "The washing machine leaks water on the kitchen floor.",
    "fridge": "The refrigerator makes a strange noise at night, as a compressor does.",
    "bill": "The electricity bill of model 1234567 is too high this month.",
    "cafe": "The café on the corner sells Türdichtungen.",
}


def errors(one: str, other: str) -> int:
    """Return the optimal string alignment distance (Boytsov 2011), from the table of all prefixes."""
    table = {(-1, j): j + 1 for j in range(-1, len(other))} | {(i, -1): i + 1 for i in range(-1, len(one))}
    for i, left in enumerate(one):
        for j, right in enumerate(other):
            choices = [table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (left != right)]
            if i and j and left == other[j - 1] and one[i - 1] == right:
                choices.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(choices)
    return table[len(one) - 1, len(other) - 1]


@given(
    st.sets(st.text("abcü", min_size=1, max_size=9), min_size=1, max_size=30), st.text("abcü", min_size=1, max_size=9)
)
@examples(4)
def test_the_nearest_words_are_those_of_a_loop_over_all(words: set[str], typed: str) -> None:
    frequencies = {word: 1 + len(word) % 3 for word in sorted(words)}
    found = Spellings(list(frequencies), np.array([*frequencies.values()])).near(typed)
    plain = without_marks(typed)
    most = (len(plain) >= 4) + (len(plain) >= 7)
    near = {word: errors(plain, without_marks(word)) for word in words}
    begin = [word for word in words if without_marks(word)[:2] in (plain[:1] + without_marks(word)[1:2], plain[1::-1])]
    near = {word: near[word] for word in words if near[word] == 0 or word in begin}
    least = min(near.values(), default=99)
    expected = [word for word in near if near[word] == least <= most and typed not in words]
    best = sorted(expected, key=lambda word: (-frequencies[word], word))[:5]
    total = sum(frequencies[word] for word in best)
    assert found == pytest.approx({word: frequencies[word] / total for word in best})
    assert list(found) == best


@pytest.mark.parametrize(
    ("typed", "spelling"),
    [
        ("wahsing", "washing"),  # exchanged
        ("machne", "machine"),
        ("refridgerator", "refrigerator"),
        ("cafe", "café"),
        ("turdichtungen", "türdichtungen"),
        ("1234568", None),  # another number is no error
        ("nght", "night"),
        ("wtr", None),  # too short
        ("awshing", "washing"),
        ("ight", None),  # another first letter: another word
        ("bitchen", None),
        ("bicycle", None),
    ],
)
def test_one_or_two_errors_are_found_but_not_in_numbers(typed: str, spelling: str | None) -> None:
    words = sorted({word.strip(".,").lower() for text in TEXTS.values() for word in text.split()})
    assert list(Spellings(words, np.ones(len(words), np.int64)).near(typed)) == ([spelling] if spelling else [])


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collection]:
    with Collection.create(tmp_path_factory.mktemp("typed") / "texts", Settings()) as collection:
        collection.index([Document(key, "", (Part(text),)) for key, text in TEXTS.items()])
        yield collection


def test_a_search_names_the_words_that_it_replaces(filled: Collection) -> None:
    found = filled.search("wahsing machne", k=1)
    assert found.hits[0].key == "washer"
    assert found.respelled_words == {"wahsing": ("washing",), "machne": ("machine",)}
    assert found.to_dict()["respelled_words"] == {"wahsing": ["washing"], "machne": ["machine"]}
    assert found.hits[0].score == filled.search("washing machine", k=1).hits[0].score
    assert found.ignored_words == ()


def test_without_spelling_words_stay_as_they_are(filled: Collection) -> None:
    found = filled.search("wahsing machine", k=1, spelling=False)
    assert (found.respelled_words, found.ignored_words) == ({}, ("wahsing",))
    assert "respelled_words" not in found.to_dict()
    assert not filled.search("wahsing", spelling=False).hits


def test_words_of_documents_and_words_with_their_stems_are_not_replaced(filled: Collection) -> None:
    assert filled.search("kitchens leaking", k=1).respelled_words == {}  # by their stems


def test_a_long_query_is_a_document_and_not_typed(filled: Collection) -> None:
    many = " ".join(f"qq{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(LONGEST_TYPED))
    assert filled.search(f"machine {many}", k=1).respelled_words == {}
    assert filled.search(f"machine wahsing {many[:100]}", k=1).respelled_words == {"wahsing": ("washing",)}


def test_highlights_stand_at_the_stored_word(filled: Collection) -> None:
    (hit,) = filled.search("refridgerator", k=1, highlight=True).hits
    assert [(one.source, TEXTS["fridge"][one.start : one.end]) for one in hit.highlights] == [
        ("refrigerator", "refrigerator")
    ]


def test_no_highlight_is_an_empty_list(filled: Collection) -> None:
    found = filled.search("compressor", k=4, highlight=True, rank="bm25+0.1*wmd").to_dict()["hits"]
    assert all("highlights" in hit for hit in found)


def test_vietnamese_typed_without_marks_finds_all_stored_forms(tmp_path: Path) -> None:
    texts = {"a": "Máy giặt bị rò nước trong nhà bếp", "b": "Tủ lạnh kêu to vào ban đêm", "c": "may áo dài"}
    with Collection.create(tmp_path / "vi", Settings(language="vi")) as collection:
        collection.index([Document(key, "", (Part(text),)) for key, text in texts.items()])
        found = collection.search("may giat bi ro nuoc", k=1)
        assert found.hits[0].key == "a"
        assert found.respelled_words["giat"] == ("giặt",)
        assert set(found.respelled_words["may"]) == {"máy", "may"}
        assert collection.search("máy giặt", k=1).respelled_words == {}


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(("code", "least"), [("en", 0.87), ("de", 0.87), ("es", 0.87), ("ru", 0.87), ("vi", 0.85)])
def test_questions_with_typing_errors_find_their_paragraphs(tmp_path: Path, code: str, least: float) -> None:
    """Vietnamese questions are typed without marks. Each fourth question is searched."""
    kind = "without marks" if code == "vi" else "neighbours exchanged"
    with filled_set(tmp_path / code, code) as collection:
        assert mrr(collection, code, dict(kinds_of(questions_of(code, 4)))[kind]) >= least
