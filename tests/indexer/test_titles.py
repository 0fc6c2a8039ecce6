"""The words of a title may count more than once: in every distance and score, and nowhere that people read."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank import Collection, Document, Part, Rejection
from moverank.indexer.maintenance import check
from moverank.indexer.titles import begins_with_title, with_weighty_title, without_title
from tests.indexer.world import Twin, check_exact, document, random_documents


@pytest.mark.parametrize(
    ("text", "title", "begins"),
    [
        ("Late train\nIt never came.", "Late train", True),
        ("late TRAIN: it never came", "Late train", True),
        ("Late trains", "Late train", False),
        ("My late train", "Late train", False),
        ("Late", "Late train", False),
        ("Late train", "", False),
        ("", "", False),
    ],
)
def test_where_a_text_begins_with_its_title(text: str, title: str, begins: bool) -> None:
    assert begins_with_title(text, title) == begins
    assert (without_title(text, title) != text) == begins


@given(st.integers(1, 9), st.sampled_from(["Late train", "Late", "late"]), st.sampled_from(["", "I wait", "Later"]))
def test_a_title_stands_there_as_often_as_it_counts(weight: int, title: str, body: str) -> None:
    before = document("a", f"{title}\n{body}", "Late train", title=title)
    after = with_weighty_title(before, weight)
    assert after.parts[0].text.split() == (f"{title} " * weight + body).split()
    assert replace(after, parts=before.parts) == before
    assert after.parts[1:] == before.parts[1:]
    assert without_title(after.parts[0].text, title).split() == body.split()


@pytest.mark.parametrize(
    "one", [document("a", "I wait", title="Late"), document("a", title="Late"), document("a", "Late", title="")]
)
def test_a_title_that_is_only_shown_does_not_count(one: Document) -> None:
    assert with_weighty_title(one, 5) is one


def test_a_title_of_several_lines_counts() -> None:
    one = document("a", "Late \n train\nI wait", title="Late train")  # as readers make a title fit on one line
    assert with_weighty_title(one, 2).parts == (Part("Late train\nLate \n train\nI wait"),)


def test_a_collection_counts_the_words_of_titles_so_often(make: Callable[..., Collection]) -> None:
    titled = [
        document(one.key, f"elk fox\n{one.parts[0].text}", "bee", title="Elk fox" if place % 2 else "Gnu")
        for place, one in enumerate(random_documents(20, seed=3))
    ]
    collection = make(title_weight=3, gamma=0.5)
    collection.index([*titled, Rejection("x", 1, "bad")])
    twin = Twin()
    twin.add(
        [
            document(one.key, ("elk fox " * 2 if one.title == "Elk fox" else "") + one.parts[0].text, "bee")
            for one in titled
        ]
    )
    expected = twin.distances("elk ant", gamma=0.5)
    ranking = collection.search("elk ant", k=20)
    check_exact(ranking, expected, 20)
    assert not any(hit.title == "Elk fox" and hit.snippet.startswith("elk fox") for hit in ranking.hits)
    assert len({round(distance, 9) for distance in expected.values()}) > 10
    again = collection.index(titled)
    assert (again.unchanged, again.updated) == (20, 0)
    assert check(collection.path).told() == ()
    with Collection.open(collection.path) as opened:
        assert opened.settings.title_weight == 3
        opened.index([replace(titled[1], title="Gnu")])
        twin.add([replace(titled[1])])
        check_exact(opened.search("elk ant", k=20), twin.distances("elk ant", gamma=0.5), 20)
