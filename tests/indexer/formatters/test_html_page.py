from html.parser import HTMLParser

from moverank.indexer.formatters.html_page import explanation_page
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.ranking import Flow


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
