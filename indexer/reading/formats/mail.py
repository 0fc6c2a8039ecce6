"""Mail and newsgroup messages, one per file or many in an mbox: their fields, and the text of their bodies."""

import email
import logging
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, timedelta
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.utils import getaddresses, parseaddr, parsedate_to_datetime
from typing import NamedTuple

from moverank.indexer.reading.charsets import REPLACED, declared_by_page, decode_declared
from moverank.indexer.reading.formats.dates import date_of_timestamp
from moverank.indexer.reading.formats.html import text_of_html
from moverank.indexer.reading.formats.mbox import split_mbox
from moverank.indexer.reading.formats.quotations import own_text, without_encoded_data
from moverank.indexer.reading.records import BadRecord, ReadResult, log_left_out, one_line, parts_of
from moverank.indexer.reading.streams import Stream
from moverank.indexer.values.documents import Document, Metadata

_FOLD = re.compile(r"\r?\n[ \t]*")
_COMMENT = re.compile(r"\([^()]*\)")
_BRACKETS = re.compile(r"<([^<>]*)>")
_NAMES_SENDER = re.compile(r"\b(?:from|by|von|de|da)\b[^<>]*\Z", re.IGNORECASE)
"""Text before an address in the header of a reply: `Message from Ann <ann@example.org>`."""
_NAMES_MESSAGE = re.compile(r"\d|message|mail|article|posting|nachricht|beitrag|mensaje", re.IGNORECASE)
"""Text before the id in such a header: `Your message of Monday, 1 March <id@example.org>`."""
_REPLY = re.compile(r"(?:\s*re\s*(?:\[\d+\]|\^\d+)?\s*:)+\s*", re.IGNORECASE)

_log = logging.getLogger("moverank")

# Exceptions that the standard library's parser raises on malformed messages.
_MALFORMED = (MessageError, LookupError, ValueError, TypeError, AttributeError, RecursionError, AssertionError)


class Mail(NamedTuple):
    """The parsed fields of a message."""

    id: str
    """The Message-ID without brackets, "" without one."""
    subject: str
    body: str
    references: tuple[str, ...] = ()
    """The ids of the message's ancestors, the oldest first."""
    group: str | None = None
    """The last of the newsgroups."""
    date: float | None = None
    """Seconds since 1970, None if unknown."""
    author: str = ""
    """The name of the sender, or else the address."""
    damaged: str = ""
    """The charset that the message declares, and that some of its bytes are not of; "" if there are none."""


def read_message(stream: Stream) -> Iterator[ReadResult]:
    """Read the whole file as one message; without a Message-ID, its key is its path.

    Its label is the name of its directory if that is a subdirectory of the given one (as in 20 Newsgroups), else its
    last newsgroup.
    """
    source = stream.source
    for line, mail in noted_damage(source.name, one_message(stream)):
        yield line, mail if isinstance(mail, BadRecord) else _document(mail, source.key, source.folder)


def read_mbox(stream: Stream) -> Iterator[ReadResult]:
    """Read every message of an mbox as one document; without a Message-ID, its key is `<file>:<line>`."""
    for line, mail in noted_damage(stream.source.name, mails(stream)):
        if isinstance(mail, BadRecord) and mail.part:
            continue  # no message depends on the missing bytes
        yield line, mail if isinstance(mail, BadRecord) else _document(mail, f"{stream.source.key}:{line}")


def one_message(stream: Stream) -> Iterator[tuple[int, Mail | BadRecord]]:
    """Parse the whole file as one message."""
    try:
        yield 0, parse_mail(stream.whole())
    except BadRecord as bad:
        yield 0, bad


def noted_damage(source: str, parsed: Iterator[tuple[int, Mail | BadRecord]]) -> Iterator[tuple[int, Mail | BadRecord]]:
    """Pass messages on; log once that bytes of the `source` were replaced."""
    noted = False
    for line, mail in parsed:
        if isinstance(mail, Mail) and mail.damaged and not noted:
            noted = True
            place = f"{source}:{line}" if line else source
            _log.warning(REPLACED, place, mail.damaged)
        yield line, mail


def _document(mail: Mail, default_key: str, label: str | None = None) -> Document:
    text = own_text(mail.body, is_reply=bool(mail.references))
    parts = parts_of(mail.body if text in ("", mail.body.strip()) else text)
    return Document(mail.id or default_key, mail.subject, parts, label or mail.group, mail_metadata(mail))


def mail_metadata(mail: Mail) -> Metadata:
    """Return the date and the author of a message, as far as they are known."""
    date = None if mail.date is None else date_of_timestamp(mail.date)
    return {name: value for name, value in (("date", date), ("author", mail.author)) if value}


def mails(stream: Stream) -> Iterator[tuple[int, Mail | BadRecord]]:
    """Parse the messages of an mbox, each with the number of its first line, without those that Thunderbird deleted."""
    deleted = 0
    for line, data in split_mbox(stream):
        if isinstance(data, bytes) and _is_expunged(data):
            deleted += 1
            continue
        try:
            yield line, data if isinstance(data, BadRecord) else parse_mail(data)
        except BadRecord as bad:
            yield line, bad
    log_left_out(stream.source.name, deleted, "deleted message")


_STATUS = re.compile(rb"^X-Mozilla-Status:\s*([0-9a-fA-F]{4})\s*$", re.MULTILINE)
_EXPUNGED = 0x0008


def _is_expunged(message: bytes) -> bool:
    """Return whether Thunderbird has deleted a message, which stays in the file until the folder is compacted."""
    head = message[: message.find(b"\n\n") + 1] if b"X-Mozilla-Status:" in message else b""
    status = _STATUS.search(head)
    return status is not None and bool(int(status[1], 16) & _EXPUNGED)


def parse_mail(data: bytes) -> Mail:
    """Parse one message: subject without "Re:", body without attachments, HTML only where there is no plain text."""
    try:
        message = email.message_from_bytes(data)
        headers, damaged = _headers(message), list[str]()
        subject = one_line(_header(headers, "subject"))
        reply = _REPLY.match(subject)
        return Mail(
            id=_own_id(headers),
            subject=subject[reply.end() :] if reply else subject,
            body=without_encoded_data(_body(message, damaged).text.replace("\r\n", "\n")),
            references=tuple(_references(headers)),
            group=re.split(r"[,\s]+", _header(headers, "newsgroups").strip(", \t\r\n"))[-1] or None,
            date=_date(headers),
            author=_author(headers),
            damaged=damaged[0] if damaged else "",
        )
    except _MALFORMED as error:
        raise BadRecord(f"the message is malformed: {error}") from error


def _headers(message: Message) -> Mapping[str, str]:
    """Return the first header of each name in lower case, as it is written."""
    headers: dict[str, str] = {}
    # Message.get would replace bytes beyond ASCII.
    for name, value in message.raw_items():
        headers.setdefault(name.lower(), value)
    return headers


def _header(headers: Mapping[str, str], name: str) -> str:
    """Return a header with its encoded words decoded, and with bytes beyond ASCII decoded as UTF-8 or Windows-1252."""
    return _decoded_words(headers.get(name, ""))


_MOST_WORDS = 1000
"""Encoded words of a header: decoding more takes quadratic time."""


def _decoded_words(raw: str) -> str:
    """Decode the encoded words of a header; broken ones, and too many, stay as they are written."""
    text = raw if raw.isascii() else decode_declared(raw.encode("ascii", "surrogateescape"), None, [])
    if not 0 < text.count("=?") <= _MOST_WORDS:
        return text
    try:
        # decode_header returns the pieces between encoded words in this encoding.
        return "".join(
            piece
            if isinstance(piece, str)
            else decode_declared(piece, charset, [])
            if charset
            else piece.decode("raw-unicode-escape")
            for piece, charset in decode_header(text)
        )
    except (MessageError, ValueError):
        return text


def _own_id(headers: Mapping[str, str]) -> str:
    """Return the Message-ID without brackets, "" without one; folded lines are joined."""
    text = _FOLD.sub("", _header(headers, "message-id")).strip()
    found = [one for each in _BRACKETS.findall(text) if (one := each.strip())]
    return found[0] if found else _COMMENT.sub("", _BRACKETS.sub("", text)).strip()


def _references(headers: Mapping[str, str]) -> list[str]:
    """Return the ids of References, or else of In-Reply-To, without the addresses that are written among them."""
    named = [headers[name] for name in ("from", "to", "cc", "reply-to", "sender") if headers.get(name)]
    # One by one: of several, Python 3.13 returns none if one is malformed.
    addresses = {address.lower() for one in named for _, address in getaddresses([one]) if address}
    found = [id_ for _, id_ in _bracketed(_header(headers, "references"), addresses)]
    return found or _replied_to(_header(headers, "in-reply-to"), addresses)


def _replied_to(text: str, addresses: set[str]) -> list[str]:
    """Return the ids in In-Reply-To: ids alone, or a sentence that names one message, and perhaps its sender."""
    found = _bracketed(text, addresses)
    if not _BRACKETS.sub("", text).strip():
        return [id_ for _, id_ in found]
    if len(found) == 1 and found[0][0].strip() and not _NAMES_MESSAGE.search(found[0][0]):
        return []  # a name and an address
    ids = [id_ for before, id_ in found if not _NAMES_SENDER.search(before)]
    return ids[:1] if text.lstrip().startswith("<") else ids[-1:]


def _bracketed(text: str, addresses: set[str]) -> list[tuple[str, str]]:
    """Return the bracketed texts other than `addresses`, each with the text between it and the bracket before."""
    pieces = _BRACKETS.split(_FOLD.sub("", text))
    return [
        (before, id_.strip())
        for before, id_ in zip(pieces[::2], pieces[1::2], strict=False)
        if id_.strip() and id_.strip().lower() not in addresses
    ]


class _Text(NamedTuple):
    """A text of a message, and how likely the author wrote it as the message."""

    text: str = ""
    weight: int = 0


_BODIES = frozenset({"text/plain", "text/html", "text/enriched", "text/richtext"})
_ATTACHED, _BODY = 1, 2  # weights: a text with a file name, or another message; a body


def _body(part: Message, damaged: list[str]) -> _Text:
    """Return the text of a message or of a part of it; a multipart decides between its own parts.

    Of alternatives, plain text is read if it is not blank, of related parts the first, of others all bodies: texts with
    a file name and messages within the message only if there is no body, attachments never.
    """
    kind = part.get_content_type()
    if part.get_content_disposition() == "attachment":
        return _Text()
    if not part.is_multipart():
        return _leaf(part, kind, damaged)
    parts = [each for each in part.get_payload() if isinstance(each, Message)]
    if kind == "multipart/alternative":
        parts.sort(key=lambda each: each.get_content_type() != "text/plain")
    texts = [text for each in parts if (text := _body(each, damaged)).weight]
    best = max((text.weight for text in texts), default=0)
    chosen = [text.text for text in texts if text.weight == best]
    if kind in ("multipart/alternative", "multipart/related"):
        del chosen[1:]
    # The messages of a digest are its body.
    is_attached = kind.startswith("message/") and part.get_default_type() != kind
    return _Text("\n".join(chosen), min(best, _ATTACHED) if is_attached else best)


def _leaf(part: Message, kind: str, damaged: list[str]) -> _Text:
    """Return the text of a part that has no parts."""
    # A multipart message without boundaries is parsed as one text.
    if not kind.startswith(("text/", "multipart/")):
        return _Text()
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return _Text()
    label = part.get_content_charset()
    if kind in ("text/html", "text/enriched", "text/richtext"):
        text = text_of_html(decode_declared(payload, label or declared_by_page(payload), damaged), quotations="mark")
    else:
        text = decode_declared(payload, label, damaged)
    if not text.strip():
        return _Text()
    usual = kind.startswith("multipart/") or kind in _BODIES
    return _Text(text, _BODY if usual and not part.get_filename() else _ATTACHED)


def _author(headers: Mapping[str, str]) -> str:
    # Only the first address: a decoded comma would seem to begin the next one.
    name, address = parseaddr(headers.get("from", ""))
    return one_line(_decoded_words(name) or address)


_FIRST_YEAR, _LARGEST_OFFSET = 1970, timedelta(hours=15)


def _date(headers: Mapping[str, str]) -> float | None:
    """Return the date in seconds since 1970; None without one, and for a day, a year or a zone that does not exist."""
    try:
        date = parsedate_to_datetime(_header(headers, "date"))
        offset = date.utcoffset() or timedelta()
        if date.year < _FIRST_YEAR or abs(offset) > _LARGEST_OFFSET:
            return None
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (*_MALFORMED, OverflowError):
        return None
