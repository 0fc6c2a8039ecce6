"""HTML pages, one document per file: their visible text, the fields of their heads, and whether a text is HTML."""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from typing import Literal

from moverank.indexer.reading.charsets import REPLACED, declared_by_page, decode_declared
from moverank.indexer.reading.formats.dates import date_of_text
from moverank.indexer.reading.formats.text import text_document, whole_document
from moverank.indexer.reading.records import ReadResult, one_line
from moverank.indexer.reading.streams import Stream, decode
from moverank.indexer.values.documents import Document, Metadata

Markup = Literal["keep", "strip"]
"""Whether texts are kept as they are, or HTML is removed."""

_log = logging.getLogger("moverank")

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
            (self.titles[-1] if self._in_title else self.pieces).append(self.marked(data))

    def marked(self, data: str) -> str:
        """Return a text as it is, for subclasses to mark it."""
        return data


Quotations = Literal["keep", "mark", "drop"]
"""What becomes of quoted messages; with "mark", each line begins with `> `, as in plain text."""

_QUOTING = frozenset({"aside", "blockquote", "div"})
_QUOTED_CLASSES = frozenset({"bbcode_quote", "gmail_attr", "moz-cite-prefix", "mycode_quote", "quote", "yahoo_quoted"})
"""Classes of quotations in forums, and of the lines above quotations in mail."""
_MARK = "\0> "  # begins a quoted line until spaces are removed; no text has NUL
_FIRST = 8  # pieces of a quotation before the name of its author


@dataclass
class _Element:
    tag: str
    first: int
    """The number of pieces before it."""
    quotes: bool


class _QuotationParser(_Parser):
    """Marks or drops quotations: in mail every `<blockquote>`, in forums those with a usual class or with an author.

    The elements that are open within a closed one are closed, too.
    """

    def __init__(self, quotations: Quotations) -> None:
        super().__init__()
        self._marks = quotations == "mark"
        self._open: list[_Element] = []
        self._counts: Counter[str] = Counter()  # of open elements by tag: markup may leave thousands open
        self._quoting = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _QUOTING:
            classes = next((value or "" for name, value in attrs if name == "class"), "").split()
            quotes = (self._marks and tag == "blockquote") or not _QUOTED_CLASSES.isdisjoint(classes)
            self._open.append(_Element(tag, len(self.pieces), quotes))
            self._counts[tag] += 1
            self._quoting += quotes
        elif tag == "cite" and self._counts["blockquote"]:
            self._cite()
        super().handle_starttag(tag, attrs)

    def _cite(self) -> None:
        """Take the innermost `<blockquote>` for a quotation if it begins with its author, as in phpBB and MyBB."""
        quotation = next(each for each in reversed(self._open) if each.tag == "blockquote")
        before = self.pieces[quotation.first :]
        if not quotation.quotes and len(before) <= _FIRST and not "".join(before).strip():
            quotation.quotes = True
            self._quoting += 1

    def handle_endtag(self, tag: str) -> None:
        while self._counts[tag] and tag in _QUOTING:
            element = self._open.pop()
            self._counts[element.tag] -= 1
            self._quoting -= element.quotes
            if element.quotes and not self._marks:
                del self.pieces[element.first :]
            if element.tag == tag:
                break
        super().handle_endtag(tag)

    def marked(self, data: str) -> str:
        if not (self._marks and self._quoting):
            return data
        return "\n".join(_MARK + line for line in data.split("\n"))


def text_of_html(markup: str, quotations: Quotations = "keep") -> str:
    """Return the visible text of HTML: a line for each block, entities decoded, without title, scripts and styles."""
    return parse_html(markup, quotations).text


def parse_html(markup: str, quotations: Quotations = "keep") -> Page:
    """Return the text, the title and the `<meta>` fields of a page; see `text_of_html`."""
    markup, closing, tail = _without_comments(markup).rpartition(">")
    parser = _Parser() if quotations == "keep" else _QuotationParser(quotations)
    try:
        parser.feed(markup + closing)
        parser.close()
        parser.pieces.append(parser.marked(unescape(tail)))
        text = "".join(parser.pieces)
    except AssertionError:
        # Raised by html.parser for a malformed declaration such as "<![x".
        text = re.sub(r"<[^<>]*>", " ", markup + closing + tail)
    lines = (_line(line) for line in text.splitlines())
    titles = [" ".join("".join(pieces).split()) for pieces in parser.titles]
    return Page("\n".join(line for line in lines if line), next(filter(None, titles), ""), parser.meta)


def _line(line: str) -> str:
    """Return a line with single spaces, marked if it is quoted."""
    own = " ".join(line.replace(_MARK, "").split())
    return f"> {own}" if _MARK in line and own else own


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


def visible_text(text: str, quotations: Quotations = "keep") -> str:
    """Return the visible text of HTML; a text without tags and usual entities stays as it is."""
    return text_of_html(text, quotations) if _TAG.search(text) or _ENTITY.search(text) else text


_AUTHORS = ("author", "article:author", "dc.creator", "dcterms.creator")
_DATES = ("date", "article:published_time", "datepublished", "dc.date", "dcterms.date", "dcterms.created")


def read_html(stream: Stream) -> Iterator[ReadResult]:
    """Read the whole file as one page; its key is its path, its title is `<title>`, or else its first line.

    `<meta>` fields with an author or an ISO date become the metadata `author` and `date`.
    """

    def document(key: str) -> Document:
        page = parse_html(_decoded(stream))
        return text_document(key, page.text, title=page.title, metadata=_metadata(page.meta))

    return whole_document(stream, document)


def _metadata(meta: dict[str, str]) -> Metadata:
    author = next((one_line(meta[name]) for name in _AUTHORS if meta.get(name, "").strip()), None)
    date = next((date for name in _DATES if (date := date_of_text(meta.get(name, "")))), None)
    return {name: value for name, value in (("author", author), ("date", date)) if value}


def _decoded(stream: Stream) -> str:
    """Decode a page as the charset that it declares, or else as UTF-8; log that bytes were replaced."""
    data = stream.whole()
    label = None if stream.recoded else declared_by_page(data)
    if label is None:
        return decode(data)
    damaged = list[str]()
    text = decode_declared(data, label, damaged)
    if damaged:
        _log.warning(REPLACED, stream.source.name, damaged[0])
    return text
