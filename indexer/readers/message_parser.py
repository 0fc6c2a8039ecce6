"""The standard library's parser of messages, with shorter ways for the usual ones."""

import email
import re
from email.message import Message
from email.parser import HeaderParser
from email.utils import parseaddr

_MANY_PARTS = re.compile("multipart/|message/", re.IGNORECASE)
_NAME_AND_ADDRESS = re.compile(
    r"([A-Za-z0-9]+(?: [A-Za-z0-9]+)*) <([A-Za-z0-9_+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)>"
)


def parsed_message(data: bytes) -> Message:
    """Return what `email.message_from_bytes` does, which reads also a single text line by line."""
    text = data.decode("ascii", "surrogateescape")
    head, blank, body = text.partition("\r\n\r\n" if "\r" in text else "\n\n")
    if not _MANY_PARTS.search(head):
        message = HeaderParser().parsestr(head + blank)
        if not message.get_payload():  # the headers end at the blank line, not before
            message.set_payload(body)
            return message
    return email.message_from_string(text)


def name_and_address(header: str) -> tuple[str, str]:
    """Return what `email.utils.parseaddr` does, which takes as long as the rest of a message."""
    usual = _NAME_AND_ADDRESS.fullmatch(header)
    return (usual[1], usual[2]) if usual else parseaddr(header)
