"""Mail and newsgroup messages, one per file or many in an mbox: their fields, and their text without quotations."""

import email
import re
from collections.abc import Iterator, Mapping
from email.errors import MessageError
from email.header import decode_header
from email.message import Message
from email.utils import mktime_tz, parseaddr, parsedate_tz
from typing import NamedTuple

from moverank.indexer.documents import Document, Metadata
from moverank.indexer.reading.formats.dates import date_of_timestamp
from moverank.indexer.reading.formats.html import text_of_html
from moverank.indexer.reading.formats.mbox import split_mbox
from moverank.indexer.reading.records import BadRecord, ReadResult, one_line, parts_of
from moverank.indexer.reading.streams import Stream

_ID = re.compile(r"<([^<>\s]+)>")
_REPLY = re.compile(r"(?:\s*re\s*(?:\[\d+\]|\^\d+)?\s*:)+\s*", re.IGNORECASE)

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
        message = email.message_from_bytes(data)
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
    texts = [(part, part.get_content_type()) for part in parts if part.get_content_disposition() != "attachment"]
    # A multipart message without boundaries is parsed as one text.
    plain = [part for part, kind in texts if kind == "text/plain" or kind.startswith("multipart/")]
    text = "\n".join(map(_text, plain))
    if text.strip():
        return text
    rest = [part for part, kind in texts if part not in plain and kind.startswith("text/")]
    return "\n".join(text_of_html(_text(part)) for part in rest)


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    return _decoded(payload, part.get_content_charset()) if isinstance(payload, bytes) else ""


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
    # Only the first address: a decoded comma would seem to begin the next one.
    name, address = parseaddr(headers.get("from", ""))
    return one_line(_decoded_words(name) or address)


def _date(headers: Mapping[str, str]) -> float | None:
    try:
        parsed = parsedate_tz(_header(headers, "date"))
        return None if parsed is None else float(mktime_tz(parsed))
    except (*_MALFORMED, OverflowError):
        return None


_SIGNATURE, _FOOTER = 20, 12  # lines of the longest signature after "-- ", and footer
_BLANK = 4  # lines within which a quotation follows its introduction
_HEADERS, _MOST_HEADERS = 3, 30  # lines of headers; without a limit, time would be quadratic

_DAY = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{1,2}[:h.]\d\d|\b(?:19|20)\d\d\b|[\w.+-]+@[\w.-]+"
_DATE = re.compile(_DAY)
_WROTE = r"\b(?:wrote|writes|said|schrieb|schreibt|a écrit|écrivait|écrit|escribió|escribe)\b"
_DATED = re.compile(
    rf"\s*(?:(?:On|At|In|Am|Le|El)\b|\d|[A-Z]\w{{1,3}},)(?=.*(?:{_DAY})).*{_WROTE}.*:\s*", re.IGNORECASE
)
"""Introductions of quotations by Gmail, Outlook, Apple Mail and Thunderbird."""
_TIMED = re.compile(r"\s*(?:On|Am|Le|El)\b(?=.*(?:\d[:h.]\d\d|@))", re.IGNORECASE)
"""The beginning of an introduction that proves that a quotation follows, even without ">" below."""
_NAMED = re.compile(
    rf"\s*(?:(?:[^.!?]|\.(?=\S)){{0,80}}{_WROTE}(?: (?:in|on|am|le|el)\b.*)?|(?:Quoting|Zitat von|Citando a)\b.*"
    r"|\* .* [<\[(].*\d.*[>\])])\s*:\s*",
    re.IGNORECASE,
)
"""Introductions by newsreaders and mutt, if a line with ">" follows."""
_LINES, _LONGEST = 4, 500  # lines and characters of the longest introduction

_SEPARATOR = re.compile(
    r"\s*-{2,}\s*(?:Original Message|Original Appointment|(?:Ursprüngliche|Originale?) Nachricht|Originalnachricht"
    r"|Message d.origine|Message original|Mensaje original)\s*-{2,}\s*",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"\s*\*?(From|Sent|Date|To|Cc|Subject|Reply-To|Von|Gesendet|Datum|An|Betreff|De|Envoyé|À|Objet|Enviado(?: el)?"
    r"|Fecha|Para|Asunto)\s?:\*?(?:\s|$)",
    re.IGNORECASE,
)
_SENDER = re.compile(r"\s*\*?(?:From|Von|De)\s?:", re.IGNORECASE)
_SENT = re.compile(r"\s*\*?(?:Sent|Gesendet|Envoyé|Enviado)\b", re.IGNORECASE)
"""A header that only mail programs write: people who forward a message by hand omit it."""
_RULE = re.compile(r"\s*(?:_{5,}|-{10,})\s*")
_LIST = re.compile(
    r"unsubscribe|mailing[ -]?list|listinfo|subscribed to|abmelde|abbestell|Verteiler|désabonn|désinscri"
    r"|liste de diffusion|lista de (?:correo|distribución)|darse de baja|desuscri|Yahoo! Groups Links",
    re.IGNORECASE,
)
_SENT_FROM = re.compile(
    r"\s*(?:Sent from my|Get Outlook for|Von meinem|Gesendet von|Envoyé de(?:puis)? mon|Enviado desde mi)\b.{0,60}",
    re.IGNORECASE,
)


def own_text(body: str, *, is_reply: bool) -> str:
    """Return a body without its signature and the footer of a list, and if it is a reply without quotations.

    A quotation is lines that begin with ">", and the lines above them that name their author (in English, German,
    French or Spanish), so answers between quoted lines stay. Without marked lines, the quotation is the whole rest
    after an author with a date, or after the headers of the other message, as Outlook writes them.
    """
    lines = _without_footers(body.split("\n"), is_reply=is_reply)
    if is_reply:
        lines = _without_quotations(lines)
    return "\n".join(line for line in lines if not _SENT_FROM.fullmatch(line)).strip()


def _without_footers(lines: list[str], *, is_reply: bool) -> list[str]:
    """Return lines up to the signature and the footer; signatures within a digest, which is no reply, stay."""
    marks = [i for i, line in enumerate(lines) if line == "-- " and (is_reply or len(lines) - i <= _SIGNATURE)]
    if marks:
        lines = lines[: marks[0]]
    for place in range(max(len(lines) - _FOOTER, 0), len(lines)):
        if _RULE.fullmatch(lines[place]) and any(_LIST.search(line) for line in lines[place + 1 :]):
            return lines[:place]
    return lines


def _without_quotations(lines: list[str]) -> list[str]:
    """Return lines without quotations and their introductions."""
    marked = max((place for place, line in enumerate(lines) if line.startswith(">")), default=-1)
    own: list[str] = []
    place = 0
    while place < len(lines):
        count, attribution = _length_of_headers(lines, place), _length_of_attribution(lines, place)
        if (count and not _is_marked(lines, place + count)) or (
            attribution and place > marked and _TIMED.match(" ".join(lines[place : place + attribution]))
        ):
            # A message that only quotes is a forwarded text.
            return own if any(line.strip() for line in own) else lines
        if attribution and _is_marked(lines, place + attribution):
            count = attribution
        if not count and not lines[place].startswith(">"):
            own.append(lines[place])
        place += count or 1
    return own


def _length_of_headers(lines: list[str], place: int) -> int:
    """Return how many lines from a place on are a separator and the headers of another message, 0 if none are."""
    if ":" not in lines[place] and lines[place].lstrip()[:1] not in ("-", "_"):  # most lines
        return 0
    separator = _SEPARATOR.fullmatch(lines[place]) is not None
    start = place + (separator or _RULE.fullmatch(lines[place]) is not None)
    if start > place:
        start = next((i for i in range(start, min(start + _BLANK, len(lines))) if lines[i].strip()), start)
    end = start
    while end < min(start + _MOST_HEADERS, len(lines)) and _HEADER.match(lines[end]):
        end += 1
    if (
        end - start >= _HEADERS
        and _SENDER.match(lines[start])
        and (separator or any(map(_SENT.match, lines[start:end])))
    ):
        return end - place
    return int(separator)


def _length_of_attribution(lines: list[str], place: int) -> int:
    """Return how many lines from a place on name the author of a quotation, 0 if none do."""
    for count in range(1, min(_LINES, len(lines) - place) + 1):
        last = lines[place + count - 1].rstrip()
        if not last or last.startswith(">"):
            break
        if not last.endswith(":"):
            continue
        # The shortest introduction, with the date in its first line: the lines before it may be the author's.
        starts = [" ".join(lines[place + i : place + count]) for i in range(count)]
        found = [len(text) <= _LONGEST and _DATED.fullmatch(text) is not None for text in starts]
        if (found[0] and not any(found[1:]) and _DATE.search(lines[place])) or (
            count == 1 and len(last) <= _LONGEST and _NAMED.fullmatch(last)
        ):
            return count
    return 0


def _is_marked(lines: list[str], place: int) -> bool:
    """Return whether the next line that is not blank begins with ">"."""
    return next((line.startswith(">") for line in lines[place : place + _BLANK] if line.strip()), False)
