"""The visible text of HTML, what the head of a page says about it, and whether texts of records are HTML."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from typing import Literal

Markup = Literal["keep", "strip"]
"""Whether texts are kept as they are, or HTML is removed."""

_BLOCK = re.compile(
    "address|article|aside|blockquote|body|br|button|caption|dd|details|dialog|div|dl|dt|fieldset|figcaption|figure"
    "|footer|form|h[1-6]|head|header|hr|label|legend|li|main|menu|nav|ol|option|p|pre|search|section|select|summary"
    "|table|tbody|td|textarea|tfoot|th|thead|title|tr|ul"
)
_HIDDEN = frozenset({"script", "style", "template", "noscript"})

_NAMES = (
    "a|abbr|article|aside|b|big|blockquote|body|br|button|caption|center|cite|code|dd|del|details|div|dl|dt|em"
    "|figcaption|figure|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|kbd|label|li|link|main|mark"
    "|meta|nav|ol|p|picture|pre|q|s|samp|script|section|small|span|strike|strong|style|sub|summary|sup|svg|table|tbody"
    "|td|tfoot|th|thead|title|tr|tt|u|ul|video"
)
_ATTRIBUTE = r"""\s+[a-zA-Z_:@][\w:.-]{0,60}\s?=\s?(?:"[^"<>]{0,2000}"|'[^'<>]{0,2000}'|[^\s"'<>=`]{1,2000})"""
_SWITCH = r"\s+(?:async|checked|compact|controls|defer|disabled|download|hidden|nofollow|nowrap|open|selected)"
_TAG = re.compile(rf"<(/?)({_NAMES})(?:{_ATTRIBUTE}|{_SWITCH}){{0,40}}\s?/?>", re.IGNORECASE)
_ENTITY = re.compile(
    r"&(?:#\d{2,7}|#[xX][0-9a-fA-F]{2,6}|amp|apos|bull|copy|deg|euro|gt|hellip|iexcl|iquest|[lr][ads]quo|lt|middot"
    r"|[mn]dash|nbsp|pound|quot|reg|shy|szlig|times|trade|zwn?j"
    r"|[A-Za-z](?:acute|caron|cedil|circ|grave|ring|slash|tilde|uml));"
)
_UNESCAPED = re.compile("[<&]")
_QUOTED_TAG = re.compile(r"`[^`\n]{0,200}</?[a-zA-Z]")
"""Markup between backticks is what a text is about."""

_ENDS = frozenset({"br", "hr", "img"})  # elements without an end tag
_OPEN = _ENDS | {"dd", "dt", "input", "li", "link", "meta", "option", "p", "td", "th", "tr"}  # it may be left out
_SAMPLE = 5000  # characters of a text that are looked at
_STRONG_SHARE, _ANY_SHARE = 0.2, 0.6  # of the texts of a source that is HTML
_UNOPPOSED_SHARE, _UNOPPOSED = 0.05, 5  # of these texts, and their number, where none speaks against it


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


def is_html(texts: Iterable[str]) -> bool:
    """Return whether `texts`, the first ones of a source that may be HTML, are HTML as a whole.

    A text speaks for it if it has entities, or begins with a tag and closes one; weakly, if it has two tags within. It
    speaks against it if it has unescaped `<` and `&`, as program code and XML, tags between backticks, or, as a text on
    HTML, tags in its sentences that nothing closes. A fifth of the texts must speak for it, or three fifths weakly, and
    several times as many as against it; if none is against it, a twentieth.
    """
    total = strong = weak = against = 0
    for text in texts:
        sample = text[:_SAMPLE]
        if sample.isspace() or not sample:
            continue
        total += 1
        if "<" in sample or "&" in sample:
            found = _evidence(sample)
            strong += found == 2
            weak += found == 1
            against += found == -1
    return bool(
        (strong and strong >= _STRONG_SHARE * total and strong > 2 * against)
        or (not against and strong >= max(_UNOPPOSED, _UNOPPOSED_SHARE * total))
        or (strong + weak and strong + weak >= _ANY_SHARE * total and strong + weak > 4 * against)
    )


def _evidence(text: str) -> int:
    """Return 2 if a text is HTML, 1 if it is likely to be, -1 if it is unlikely, 0 without evidence."""
    tags, entities = _TAG.findall(text), len(_ENTITY.findall(text))
    unescaped = len(_UNESCAPED.findall(_ENTITY.sub("", _TAG.sub("", text))))
    begins = _TAG.match(text.lstrip()) is not None
    if 4 * unescaped > len(tags) + entities or (not begins and _QUOTED_TAG.search(text)):
        return -1
    closes = any(end or name.lower() in _ENDS for end, name in tags)
    if entities or (begins and closes):
        return 2
    if not _are_closed(tags):
        return -1
    return int(closes and len(tags) > 1)


def _are_closed(tags: Sequence[tuple[str, str]]) -> bool:
    """Return whether each element that needs an end tag has one."""
    needed = [(end, name.lower()) for end, name in tags if name.lower() not in _OPEN]
    return Counter(name for end, name in needed if not end) == Counter(name for end, name in needed if end)


def visible_text(text: str) -> str:
    """Return what is visible of a text of a source that is HTML; one without tags and usual entities stays as it is."""
    return text_of_html(text) if _TAG.search(text) or _ENTITY.search(text) else text
