"""HTML pages, one document per file: their visible text, the fields of their heads, and whether a text is HTML."""

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from typing import Literal

from moverank.indexer.documents import Metadata
from moverank.indexer.reading.formats.dates import date_of_text
from moverank.indexer.reading.formats.text import text_document
from moverank.indexer.reading.records import BadRecord, ReadResult, one_line
from moverank.indexer.reading.streams import Stream, decode

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
"""Code between backticks: its markup belongs to the text."""

_ENDS = frozenset({"br", "hr", "img"})  # elements without an end tag
_OPEN = _ENDS | {"dd", "dt", "input", "li", "link", "meta", "option", "p", "td", "th", "tr"}  # optional end tags
_SAMPLE = 5000  # characters of a text that are examined
_STRONG_SHARE, _ANY_SHARE = 0.2, 0.6  # of the texts of a source that is HTML
_UNOPPOSED_SHARE, _UNOPPOSED = 0.05, 5  # the same share, and the least number, if no text speaks against it


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
            self._in_title = False  # text after an unclosed title belongs to the page
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

    A text speaks for HTML if it has entities, or begins with a tag and closes one; weakly, if it has two tags inside.
    It speaks against HTML if it has unescaped `<` and `&`, as program code and XML have, tags between backticks, or
    unclosed tags in its sentences, as a text about HTML has. A fifth of the texts must speak for HTML, or three fifths
    weakly, and several times as many as against it; if no text speaks against it, a twentieth.
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
    """Return 2 if a text is HTML, 1 if it is likely HTML, -1 if it is unlikely, 0 without evidence."""
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
    """Return the visible text of HTML; a text without tags and usual entities stays as it is."""
    return text_of_html(text) if _TAG.search(text) or _ENTITY.search(text) else text


_CHARSET = re.compile(rb"""<meta\b[^<>]{0,200}?\bcharset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_PLACE_OF_CHARSET = 4096
_AUTHORS = ("author", "article:author", "dc.creator", "dcterms.creator")
_DATES = ("date", "article:published_time", "datepublished", "dc.date", "dcterms.date", "dcterms.created")


def read_html(stream: Stream) -> Iterator[ReadResult]:
    """Read the whole file as one page; its key is its path, its title is `<title>`, or else its first line.

    `<meta>` fields with an author or an ISO date become the metadata `author` and `date`.
    """
    key = stream.source.key
    try:
        page = parse_html(_decoded(stream.whole()))
        metadata = _metadata(page.meta)
        yield 0, text_document(key, page.text, title=page.title, metadata=metadata)
    except BadRecord as bad:
        bad.key = key
        yield 0, bad


def _metadata(meta: dict[str, str]) -> Metadata:
    author = next((one_line(meta[name]) for name in _AUTHORS if meta.get(name, "").strip()), None)
    date = next((date for name in _DATES if (date := date_of_text(meta.get(name, "")))), None)
    return {name: value for name, value in (("author", author), ("date", date)) if value}


def _decoded(data: bytes) -> str:
    """Decode a page as UTF-8, or else as the encoding that it names itself."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        named = _CHARSET.search(data[:_PLACE_OF_CHARSET])
    try:
        name = codecs.lookup(named[1].decode()).name if named else "utf-8"
        # Browsers decode these encodings as Windows' extensions of them, and authors rely on it.
        return data.decode("cp1252" if name in ("iso8859-1", "ascii") else name)
    except (LookupError, ValueError):
        return decode(data)
