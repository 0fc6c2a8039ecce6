"""Mail and newsgroup messages: one per file, or many in an mbox."""

import re
from collections.abc import Iterator, Mapping
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.utils import mktime_tz, parsedate_tz
from functools import lru_cache
from typing import NamedTuple

from moverank.indexer.documents import Document, Metadata
from moverank.indexer.readers.bad_record import BadRecord, ReadResult
from moverank.indexer.readers.dates import date_of_timestamp
from moverank.indexer.readers.mail_body import own_text
from moverank.indexer.readers.markup import text_of_html
from moverank.indexer.readers.mbox import split_mbox
from moverank.indexer.readers.message_parser import name_and_address, parsed_message
from moverank.indexer.readers.records import one_line, parts_of
from moverank.indexer.readers.streams import Stream

_ID = re.compile(r"<([^<>\s]+)>")
_REPLY = re.compile(r"(?:\s*re\s*(?:\[\d+\]|\^\d+)?\s*:)+\s*", re.IGNORECASE)

# Exceptions that the standard library's parser raises on malformed messages.
_MALFORMED = (MessageError, LookupError, ValueError, TypeError, AttributeError, RecursionError, AssertionError)


class Mail(NamedTuple):
    """The parsed fields of a message.

    `id` is its Message-ID without brackets ("" if it has none); `references` are the ids of its ancestors, the oldest
    first; `group` is the last of its newsgroups; `date` in seconds since 1970, None if unknown; `author` is the name of
    the sender, without one the address.
    """

    id: str
    subject: str
    body: str
    references: tuple[str, ...] = ()
    group: str | None = None
    date: float | None = None
    author: str = ""


def read_message(stream: Stream) -> Iterator[ReadResult]:
    """Read the whole file as one message; without a Message-ID, its key is its path.

    Its label is the name of its directory if that is a subdirectory of the given one (as in 20 Newsgroups), else its
    last newsgroup.
    """
    source = stream.source
    try:
        yield 0, _document(parse_mail(stream.whole()), source.key, source.folder)
    except BadRecord as bad:
        yield 0, bad


def read_mbox(stream: Stream) -> Iterator[ReadResult]:
    """Read every message of an mbox as one document; without a Message-ID, its key is `<file>:<line>`."""
    for line, mail in mails(stream):
        if isinstance(mail, BadRecord):
            yield line, mail
        else:
            yield line, _document(mail, f"{stream.source.key}:{line}")


def _document(mail: Mail, default_key: str, label: str | None = None) -> Document:
    text = own_text(mail.body, is_reply=bool(mail.references))
    parts = parts_of(mail.body if text in ("", mail.body.strip()) else text)
    return Document(mail.id or default_key, mail.subject, parts, label or mail.group, mail_metadata(mail))


def mail_metadata(mail: Mail) -> Metadata:
    """Return the date and the author of a message, as far as they are known."""
    date = None if mail.date is None else date_of_timestamp(mail.date)
    return {name: value for name, value in (("date", date), ("author", mail.author)) if value}


def mails(stream: Stream) -> Iterator[tuple[int, Mail | BadRecord]]:
    """Parse the messages of an mbox, each with the number of its first line."""
    for line, data in split_mbox(stream):
        try:
            yield line, data if isinstance(data, BadRecord) else parse_mail(data)
        except BadRecord as bad:
            yield line, bad


def parse_mail(data: bytes) -> Mail:
    """Parse one message: subject without "Re:", body without attachments, HTML only if there is no plain text."""
    try:
        message = parsed_message(data)
        headers = _headers(message)
        subject = one_line(_header(headers, "subject"))
        reply = _REPLY.match(subject)
        own_id = _header(headers, "message-id").strip()
        references = _ID.findall(_header(headers, "references")) or _ID.findall(_header(headers, "in-reply-to"))
        return Mail(
            id=next(iter(_ID.findall(own_id)), own_id),
            subject=subject[reply.end() :] if reply else subject,
            body=_body(message).replace("\r\n", "\n"),
            references=tuple(references),
            group=re.split(r"[,\s]+", _header(headers, "newsgroups").strip(", \t\r\n"))[-1] or None,
            date=_date(headers),
            author=_author(headers),
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
    """Return a header with its encoded words decoded, and with bytes beyond ASCII decoded as UTF-8 or Latin-1."""
    return _decoded_words(headers.get(name, ""))


def _decoded_words(raw: str) -> str:
    text = raw if raw.isascii() else _decoded(raw.encode("ascii", "surrogateescape"))
    if "=?" not in text:
        return text
    # decode_header returns the pieces between encoded words in this encoding.
    return "".join(
        piece if isinstance(piece, str) else _decoded(piece, charset or "raw-unicode-escape")
        for piece, charset in decode_header(text)
    )


def _body(message: Message) -> str:
    parts = [part for part in message.walk() if not part.is_multipart()]
    texts = [(part, _content_of(part)) for part in parts if part.get_content_disposition() != "attachment"]
    # A multipart message without boundaries is parsed as one text.
    plain = [pair for pair in texts if pair[1].type == "text/plain" or pair[1].type.startswith("multipart/")]
    text = "\n".join(_text(part, content.charset) for part, content in plain)
    if text.strip():
        return text
    rest = [pair for pair in texts if pair not in plain and pair[1].type.startswith("text/")]
    return "\n".join(text_of_html(_text(part, content.charset)) for part, content in rest)


def _text(part: Message, charset: str | None) -> str:
    payload = part.get_payload(decode=True)
    return _decoded(payload, charset) if isinstance(payload, bytes) else ""


class _Content(NamedTuple):
    """What a header `Content-Type` says."""

    type: str
    charset: str | None


def _content_of(part: Message) -> _Content:
    header = part.get("Content-Type")
    if isinstance(header, str):
        return _content_of_header(header)
    return _Content(part.get_content_type(), part.get_content_charset())


@lru_cache(maxsize=256)
def _content_of_header(header: str) -> _Content:
    """Return what a header says: most messages have one of a few such headers."""
    part = Message()
    part["Content-Type"] = header
    return _Content(part.get_content_type(), part.get_content_charset())


def _decoded(data: bytes, charset: str | None = None) -> str:
    for name in (charset, "utf-8"):
        # Decoding punycode takes quadratic time, and no message uses it as its charset.
        if name and name != "punycode":
            try:
                return data.decode(name)
            except (LookupError, ValueError):
                pass
    return data.decode("latin-1")


def _author(headers: Mapping[str, str]) -> str:
    # Only the first: what decodes to a comma would be taken for the next address.
    name, address = name_and_address(headers.get("from", ""))
    return one_line(_decoded_words(name) or address)


def _date(headers: Mapping[str, str]) -> float | None:
    try:
        parsed = parsedate_tz(_header(headers, "date"))
        return None if parsed is None else float(mktime_tz(parsed))
    except (*_MALFORMED, OverflowError):
        return None
