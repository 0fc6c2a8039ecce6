"""The visible text of HTML."""

import re
from html import unescape
from html.parser import HTMLParser

_BLOCK = re.compile(
    "address|article|aside|blockquote|br|caption|dd|div|dl|dt|figcaption|figure|footer|form|h[1-6]|header|hr|li|main"
    "|nav|ol|option|p|pre|section|table|td|th|title|tr|ul"
)
_HIDDEN = frozenset({"script", "style"})


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._hidden = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - its signature
        if tag in _HIDDEN:
            self._hidden = True
        elif _BLOCK.fullmatch(tag):
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _HIDDEN:
            self._hidden = False
        elif _BLOCK.fullmatch(tag):
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.pieces.append(data)


def text_of_html(markup: str) -> str:
    """Return the visible text of HTML: a line for each block, entities decoded, without scripts and styles."""
    markup, closing, tail = _without_comments(markup).rpartition(">")
    parser = _Text()
    try:
        parser.feed(markup + closing)
        parser.close()
        parser.pieces.append(unescape(tail))
        text = "".join(parser.pieces)
    except AssertionError:
        # Raised by html.parser for a malformed declaration such as "<![x".
        text = re.sub(r"<[^<>]*>", " ", markup + closing + tail)
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def _without_comments(markup: str) -> str:
    # html.parser searches the whole rest for the end of every unclosed comment and tag: this takes quadratic time,
    # hours for malicious markup.
    first, *rest = markup.split("<!--")
    return first + "".join(piece.partition("-->")[2] for piece in rest)
