from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

from moverank.indexer.formatters.html_page import explanation_page, ranking_page
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.ranking import Flow, Highlight, Hit, Ranking


class _Balance(HTMLParser):
    """Checks that every element is closed, and collects elements and attributes that could load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.seen += [name for name, _ in attrs if name in ("src", "href") or name.startswith("on")]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_well_formed_and_loads_nothing() -> None:
    malicious = "<script>alert(1)</script>\"'&"
    flows = (Flow(malicious, "b", 0.5, 2.0, 1.0), Flow("a", malicious, 0.5, 0.0, 0.0))
    page = _Balance()
    page.feed(explanation_page(Explanation(1.0, flows), malicious, malicious))
    assert page.open == []
    assert not {"script", "link", "img", "src", "href"} & set(page.seen)
    assert not [name for name in page.seen if name.startswith("on")]
    assert page.seen.count("path") == len(flows)
    assert page.text.count(malicious) >= 6


def test_equal_texts_have_a_page() -> None:
    assert "distance 0.0000" in explanation_page(Explanation(0.0, (Flow("a", "a", 1.0, 0.0, 0.0),)), "a", "k")


def test_texts_have_their_own_direction() -> None:
    flows = (Flow("كتاب", "بيت", 1.0, 2.0, 1.0),)
    page = explanation_page(Explanation(1.0, flows), "كتاب", "بيت")
    for part in (
        '<h1 dir="auto">بيت</h1>',
        "Query: <bdi>كتاب</bdi>",
        "<td><bdi>كتاب</bdi></td><td><bdi>بيت</bdi></td>",
    ):
        assert part in page


def test_a_page_of_hits_is_well_formed_and_loads_nothing() -> None:
    malicious = "<script>alert(1)</script>\"'&"
    flows = (Flow("a", malicious, 1.0, 2.0, 1.0),)
    about: dict[str, Any] = {
        "title": malicious,
        "label": malicious,
        "snippet": malicious,
        "metadata": {malicious: malicious},
    }
    hits = (Hit(malicious, 0.5, flows=flows, text=malicious, **about), Hit("k", 0.7, **about))
    failed = Ranking((), certified=False, scope="collection", problem=malicious)
    page = _Balance()
    page.feed(ranking_page([(malicious, Ranking(hits, True, "collection", ranked_by="wmd")), ("q", failed)]))
    assert page.open == []
    assert not {"script", "link", "img", "src", "href"} & set(page.seen)
    assert not [name for name in page.seen if name.startswith("on")]
    assert "0.5000" in page.text
    assert page.text.count("alert") >= 12


def test_the_words_of_the_query_are_marked() -> None:
    dog, kitten = Highlight(None, 0, 3, "dog", "dog", 0.0), Highlight(1, 9, 15, "kitten", "cat", 0.1)
    about: dict[str, Any] = {"snippet": "a kitten, a train", "snippet_highlights": (replace(kitten, start=2, end=8),)}
    hits = (
        Hit("d", 0.1, "Dog", highlights=(dog, kitten), **about),
        Hit("dog", 0.2, text=" A\n\nWow, one kitten", highlights=(kitten,), part_starts=(0, 4)),
        Hit("e", 0.2, "The dog", highlights=(replace(dog, start=4, end=7),)),
    )
    page = ranking_page([("the dog", Ranking(hits, True, "collection", ranked_by="wmd"))])
    assert "A\n\nWow, one <mark" in page
    assert "<mark>Dog</mark>" in page
    assert '<mark class="moved" title="near cat, cost 0.10">kitten</mark>, a train' in page
    assert "The <mark>dog</mark>" in page
