"""What the author of a message wrote: its text without quotations, signature and the footer of a mailing list."""

import re

_SIGNATURE, _FOOTER = 20, 12  # lines of the longest signature after "-- ", and footer
_BLANK = 4  # lines in which what introduces a quotation is followed by it
_HEADERS, _MOST_HEADERS = 3, 30  # of another message: reading more again from each line would take quadratic time

_DAY = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{1,2}[:h.]\d\d|\b(?:19|20)\d\d\b|[\w.+-]+@[\w.-]+"
_DATE = re.compile(_DAY)
_WROTE = r"\b(?:wrote|writes|said|schrieb|schreibt|a écrit|écrivait|écrit|escribió|escribe)\b"
_DATED = re.compile(
    rf"\s*(?:(?:On|At|In|Am|Le|El)\b|\d|[A-Z]\w{{1,3}},)(?=.*(?:{_DAY})).*{_WROTE}.*:\s*", re.IGNORECASE
)
"""Lines above a quotation as those of Gmail, Outlook, Apple Mail and Thunderbird."""
_TIMED = re.compile(r"\s*(?:On|Am|Le|El)\b(?=.*(?:\d[:h.]\d\d|@))", re.IGNORECASE)
"""The beginning of one that is enough to know that a quotation follows, even without ">" below."""
_NAMED = re.compile(
    rf"\s*(?:(?:[^.!?]|\.(?=\S)){{0,80}}{_WROTE}(?: (?:in|on|am|le|el)\b.*)?|(?:Quoting|Zitat von|Citando a)\b.*"
    r"|\* .* [<\[(].*\d.*[>\])])\s*:\s*",
    re.IGNORECASE,
)
"""A line above a quotation as those of newsreaders and mutt, if a line with ">" follows."""
_LINES, _LONGEST = 4, 500  # lines and characters of the longest one

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
"""A header that only mail programs write, not people who pass on a message with its own headers."""
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
    French or Spanish), so answers between quoted lines stay. If no line is marked below it, it is all that follows
    an author with a date, or the headers of the other message, as Outlook writes them.
    """
    lines = _without_footers(body.split("\n"), is_reply=is_reply)
    if is_reply:
        lines = _without_quotations(lines)
    return "\n".join(line for line in lines if not _SENT_FROM.fullmatch(line)).strip()


def _without_footers(lines: list[str], *, is_reply: bool) -> list[str]:
    """Return lines up to the signature and the footer; those within a digest, which is no reply, stay."""
    marks = [i for i, line in enumerate(lines) if line == "-- " and (is_reply or len(lines) - i <= _SIGNATURE)]
    if marks:
        lines = lines[: marks[0]]
    for place in range(max(len(lines) - _FOOTER, 0), len(lines)):
        if _RULE.fullmatch(lines[place]) and any(_LIST.search(line) for line in lines[place + 1 :]):
            return lines[:place]
    return lines


def _without_quotations(lines: list[str]) -> list[str]:
    """Return lines without those that are quoted, and without what names their author."""
    marked = max((place for place, line in enumerate(lines) if line.startswith(">")), default=-1)
    own: list[str] = []
    place = 0
    while place < len(lines):
        count, attribution = _length_of_headers(lines, place), _length_of_attribution(lines, place)
        if (count and not _is_marked(lines, place + count)) or (
            attribution and place > marked and _TIMED.match(" ".join(lines[place : place + attribution]))
        ):
            # What only quotes is a text that was passed on.
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
        # The shortest one, with the date in its first line: what precedes it may be of the author.
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
