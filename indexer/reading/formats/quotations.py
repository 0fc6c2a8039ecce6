"""What the author of a message wrote: its text without quotations, signatures, footers of lists, and encoded data."""

import re
from bisect import bisect_left

_SIGNATURE, _FOOTER = 20, 12  # lines of the longest signature after "-- ", and footer
_BLANK = 4  # lines within which a quotation follows its introduction
_HEADERS, _MOST_HEADERS = 3, 30  # lines of headers; without a limit, time would be quadratic

_DAY = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{1,2}[:h.]\d\d|\b(?:19|20)\d\d\b|[\w.+-]+@[\w.-]+"
_DATE = re.compile(rf"{_DAY}|\d\s?[年년]")
_WROTE = r"\b(?:wrote|writes|said|schrieb|schreibt|a écrit|écrivait|écrit|escribió|escribe)\b"
_COLON = "[:\\N{FULLWIDTH COLON}]"
_EAST_ASIAN = (
    r"\s*(?:.{0,80}[于於]\s*)?\d{4}\s?[年년]\s?\d{1,2}\s?[月월]"
    rf".*(?:<[^<>]+@[^<>]+>|写道|寫道|작성).{{0,20}}{_COLON}\s*"
)
_DATED = re.compile(
    rf"\s*(?:(?:On|At|In|Am|Le|El)\b|\d|[A-Z]\w{{1,3}},)(?=.*(?:{_DAY})).*{_WROTE}.*:\s*|{_EAST_ASIAN}", re.IGNORECASE
)
"""Introductions of quotations by Gmail, also in Japanese, Chinese and Korean, Outlook, Apple Mail and Thunderbird."""
_TIMED = re.compile(rf"\s*(?:On|Am|Le|El)\b(?=.*(?:\d[:h.]\d\d|@))|{_EAST_ASIAN}", re.IGNORECASE)
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
"""A header that only mail programs write: messages forwarded by hand lack it."""
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
    lines = _with_prompts(lines)
    marked = max((place for place, line in enumerate(lines) if line.startswith(">")), default=-1)
    own: list[str] = []
    place = 0
    while place < len(lines):
        count, attribution = _length_of_headers(lines, place), _length_of_attribution(lines, place)
        if (count and not _is_marked(lines, place + count)) or (
            attribution and place > marked and _TIMED.match(" ".join(lines[place : place + attribution]))
        ):
            # A message that only quotes is a forwarded text.
            return _without_marks(own if any(line.strip() for line in own) else lines)
        if attribution and _is_marked(lines, place + attribution):
            count = attribution
        if not count and not lines[place].startswith(">"):
            own.append(lines[place])
        place += count or 1
    return _without_marks(own)


_PROMPT = re.compile(r">>>(?: |\Z)")
_PROMPT_MARK = "\0"


def _with_prompts(lines: list[str]) -> list[str]:
    """Return lines with a mark before each prompt of Python, `>>>`, which is no quotation.

    A line of three marks is quoted if a neighbouring quoted line has fewer, or if a line above names the author.
    """
    found, place = list(lines), 0
    while place < len(lines):
        end = place
        while end < len(lines) and lines[end].startswith(">"):
            end += 1
        if end > place and all(map(_PROMPT.match, lines[place:end])) and not _is_introduced(lines, place):
            found[place:end] = [_PROMPT_MARK + line for line in lines[place:end]]
        place = end + 1
    return found


def _is_introduced(lines: list[str], place: int) -> bool:
    """Return whether a line within a few lines above a place names the author of a quotation."""
    return any(
        start + count == place or not any(line.strip() for line in lines[start + count : place])
        for start in range(max(0, place - _LINES - 1), place)
        if (count := _length_of_attribution(lines, start))
    )


def _without_marks(lines: list[str]) -> list[str]:
    return [line.removeprefix(_PROMPT_MARK) for line in lines]


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
        and (_SENDER.match(lines[start]) or _is_of_gmx(lines, start))
        and (separator or any(map(_SENT.match, lines[start:end])))
    ):
        return end - place
    return int(separator)


def _is_of_gmx(lines: list[str], place: int) -> bool:
    """Return whether headers begin as GMX and Web.de write them: with the date, followed by the sender."""
    return _SENT.match(lines[place]) is not None and _SENDER.match(lines[place + 1]) is not None


def _length_of_attribution(lines: list[str], place: int) -> int:
    """Return how many lines from a place on name the author of a quotation, 0 if none do."""
    for count in range(1, min(_LINES, len(lines) - place) + 1):
        last = lines[place + count - 1].rstrip()
        if not last or last.startswith(">"):
            break
        if not last.endswith((":", "\N{FULLWIDTH COLON}")):
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


_ARMOUR = re.compile(r"-----(BEGIN|END) PGP (.*)-----\s*")
_UUENCODED = re.compile(r"begin [0-7]{3,4} \S.*")
_ENCODED_LINE = re.compile(r"[!-`][ -`]{0,84}|`")


def without_encoded_data(body: str) -> str:
    """Return a body without PGP's signatures, keys and marks of a signed text, and without uuencoded files."""
    if "-----BEGIN PGP " not in body and "begin " not in body:
        return body
    lines, own, place = body.split("\n"), list[str](), 0
    ends = [i for i, line in enumerate(lines) if line.startswith("-----END PGP ") or line.rstrip() == "end"]
    signed = False
    while place < len(lines):
        end = ends[bisect_left(ends, place)] if ends and ends[-1] >= place else -1
        armour = _ARMOUR.fullmatch(lines[place])
        if armour and armour[2] == "SIGNED MESSAGE":
            signed = True
            while place < len(lines) and lines[place].strip():  # with its headers, such as `Hash: SHA256`
                place += 1
        elif end > place and (armour or _is_uuencoded(lines, place, end)):
            signed = False
            place = end
        else:
            own.append(lines[place].removeprefix("- ") if signed else lines[place])
        place += 1
    return "\n".join(own)


def _is_uuencoded(lines: list[str], begin: int, end: int) -> bool:
    """Return whether the lines from `begin` to `end` are a uuencoded file."""
    return _UUENCODED.fullmatch(lines[begin].rstrip()) is not None and all(
        not line.rstrip() or _ENCODED_LINE.fullmatch(line.rstrip("\r")) for line in lines[begin + 1 : end]
    )
