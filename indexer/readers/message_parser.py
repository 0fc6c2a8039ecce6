"""The standard library's parser of messages, with shorter ways for the usual ones."""

import email
import re
from email.message import Message
from email.parser import HeaderParser
from email.utils import parseaddr

_HEADERS = re.compile(r"[!-9;-~]++:[^\r\n]*+(?:\r?\n(?:[ \t]|[!-9;-~]++:)[^\r\n]*+)*+")
_MANY_PARTS = re.compile("multipart/|message/", re.IGNORECASE)
_NAME_AND_ADDRESS = re.compile(
    r"([A-Za-z0-9]+(?: [A-Za-z0-9]+)*) <([A-Za-z0-9_+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)>"
)


def parsed_message(data: bytes) -> Message:
    """Return what `email.message_from_bytes` does, which reads also a single text line by line."""
    text = data.decode("ascii", "surrogateescape")
    head, blank, body = text.partition("\r\n\r\n" if "\r" in text else "\n\n")
    if _MANY_PARTS.search(head) or not _HEADERS.fullmatch(head):  # headers can end before a blank line
        return email.message_from_string(text)
    message = HeaderParser().parsestr(head + blank)
    message.set_payload(body)
    return message


def name_and_address(header: str) -> tuple[str, str]:
    """Return what `email.utils.parseaddr` does, which takes as long as the rest of a message."""
    usual = _NAME_AND_ADDRESS.fullmatch(header)
    return (usual[1], usual[2]) if usual else parseaddr(header)
