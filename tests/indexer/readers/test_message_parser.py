"""The shorter ways return what the standard library does."""

import email
import mailbox
from email.message import Message
from email.utils import parseaddr
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from moverank.indexer.readers.message_parser import name_and_address, parsed_message

_PIECES = st.sampled_from(
    [
        *("Subject: x", "From a@b", "Content-Type: text/plain", "Content-Type: multipart/mixed; boundary=b", "--b"),
        *("--b--", "Content-Type:\n message/rfc822", "Content-Transfer-Encoding: base64", "eHk=", " folded"),
        *("no header", "caf\xe9", ":", "", "\n", "\n\n", "\r", "\r\n", "\f", "\x85"),
    ]
)  # fmt: skip


def _tree(message: Message) -> Any:
    """Return everything that a parsed message holds."""
    parts = [_tree(part) for part in message.get_payload()] if message.is_multipart() else []  # type: ignore[arg-type]
    payloads = [message.get_payload(decode=decode) for decode in (False, True)]
    kind = message.get_content_type(), message.get_content_charset(), message.get_content_disposition()
    return list(message.raw_items()), message.get_unixfrom(), message.preamble, parts or payloads, kind


@given(st.lists(_PIECES | st.text("a:<@> \n\r\xe9", max_size=5)), st.sampled_from(["\n", "\r\n", "\r"]))
@example(["From: a", "", "From b"], "\n")
@example(["Subject: x"], "\n")
def test_any_message_is_parsed_as_by_the_standard_library(lines: list[str], end: str) -> None:
    data = end.join(lines).encode("latin-1", "replace")
    assert _tree(parsed_message(data)) == _tree(email.message_from_bytes(data))


def test_real_layouts_are_parsed_as_by_the_standard_library() -> None:
    message = mailbox.mboxMessage()
    message["Subject"], message["From"] = "x", "A <a@b>"
    message.set_payload("two\n\nparagraphs\n")
    assert parsed_message(bytes(message)).get_payload() == "two\n\nparagraphs\n"


_ADDRESSES = st.text('ab1 "<>@.,:;()[]\\-_+=?\t\n\xe9', max_size=12)


@given(_ADDRESSES | st.builds("{} <{}@{}>".format, _ADDRESSES, st.text("a.-_+%/"), st.text("a.-_+")))
@example("Author 12 <a12@forum>")
@example("A B <a+b_c-d@e-f.example.org>")
@example("A  B <a@b>")
def test_any_sender_is_parsed_as_by_the_standard_library(header: str) -> None:
    assert name_and_address(header) == parseaddr(header)
