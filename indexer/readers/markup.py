"""The visible text of HTML, and what the head of a page says about it."""

import re
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

_BLOCK = re.compile(
    "address|article|aside|blockquote|body|br|button|caption|dd|details|dialog|div|dl|dt|fieldset|figcaption|figure"
    "|footer|form|h[1-6]|head|header|hr|label|legend|li|main|menu|nav|ol|option|p|pre|search|section|select|summary"
    "|table|tbody|td|textarea|tfoot|th|thead|title|tr|ul"
)
_HIDDEN = frozenset({"script", "style", "template", "noscript"})


@dataclass
class Page:
    """The visible text of a page, its title ("" without one), and its `<meta>` fields by lower-case name."""

    text: str = ""
    title: str = ""
    meta: dict[str, str] = field(default_factory=dict)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.titles: list[list[str]] = []
        self.meta: dict[str, str] = {}
        self._hidden: str | None = None
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._hidden is None and tag in _HIDDEN:
            self._hidden = tag
        elif tag == "meta":
            values = dict(attrs)
            name = values.get("name") or values.get("property") or values.get("itemprop") or ""
            self.meta.setdefault(name.lower(), values.get("content") or "")
        elif tag == "title":
            self._in_title = True
            self.titles.append([])
        elif _BLOCK.fullmatch(tag):
            self._in_title = False  # a title that is not closed must not swallow the page
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden or tag in ("head", "body"):
            self._hidden = None
        if tag == "title":
            self._in_title = False
        elif _BLOCK.fullmatch(tag):
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if self._hidden is None:
            (self.titles[-1] if self._in_title else self.pieces).append(data)


def text_of_html(markup: str) -> str:
    """Return the visible text of HTML: a line for each block, entities decoded, without title, scripts and styles."""
    return parse_html(markup).text


def parse_html(markup: str) -> Page:
    """Return the text, the title and the `<meta>` fields of a page; see `text_of_html`."""
    markup, closing, tail = _without_comments(markup).rpartition(">")
    parser = _Parser()
    try:
        parser.feed(markup + closing)
        parser.close()
        parser.pieces.append(unescape(tail))
        text = "".join(parser.pieces)
    except AssertionError:
        # Raised by html.parser for a malformed declaration such as "<![x".
        text = re.sub(r"<[^<>]*>", " ", markup + closing + tail)
    lines = (" ".join(line.split()) for line in text.splitlines())
    titles = [" ".join("".join(pieces).split()) for pieces in parser.titles]
    return Page("\n".join(line for line in lines if line), next(filter(None, titles), ""), parser.meta)


def _without_comments(markup: str) -> str:
    # html.parser searches the whole rest for the end of every unclosed comment and tag: this takes quadratic time,
    # hours for malicious markup.
    first, *rest = markup.split("<!--")
    return first + "".join(piece.partition("-->")[2] for piece in rest)
