import mailbox
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.documents import Document, Part, Rejection
from moverank.indexer.reading import streams
from moverank.indexer.reading.formats.mail import Mail, parse_mail

Write = Callable[[str, str | bytes], str]
Read = Callable[..., tuple[list[Document], list[Rejection]]]

NEWS = b"""From: someone@example.org (Some One)
Subject: Re: RE:  re[2]: Fast
 modems
Newsgroups: comp.sys.mac, misc.forsale
Message-ID: <1@example.org>
References: <a@b> <c@d>
In-Reply-To: <other@d>
Date: Fri, 1 Jan 1993 00:00:00 +0100

Hello there.
> quoted
"""


def test_the_parsed_fields_of_a_message() -> None:
    assert parse_mail(NEWS) == Mail(
        id="1@example.org",
        subject="Fast modems",
        body="Hello there.\n> quoted\n",
        references=("a@b", "c@d"),
        group="misc.forsale",
        date=725842800.0,
        author="Some One",
    )


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (b"Subject: =?utf-8?q?Caf=C3=A9?= at =?latin-1?b?6Q==?=", "Café at é"),
        (b"Subject: caf\xc3\xa9", "café"),
        (b"Subject: caf\xe9", "café"),
        (b"Subject: =?nonsense?q?Caf=C3=A9?=", "Café"),
        (b"Subject: =?utf-8?b?!?=", None),
        (b"SUBJECT: Re^2: x", "x"),
        (b"Subject: Reading", "Reading"),
        (b"Subject: Re: ", ""),
        (b"X-Subject: x", ""),
    ],
)
def test_subjects(header: bytes, expected: str | None) -> None:
    subject = parse_mail(header + b"\n\nx").subject
    assert expected is None or subject == expected


@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        (b"text/plain; charset=iso-8859-1", b"caf\xe9", "café"),
        (b"text/plain; charset=utf-8", b"caf\xe9", "café"),
        (b"text/plain; charset=us-ascii", b"caf\xc3\xa9", "café"),
        (b"text/plain; charset=rot13", b"plain", "plain"),
        (b"text/plain; charset=punycode", b"plain", "plain"),
        (b"text/plain; charset=windows-1251", b"\xcf", "П"),
        (b"nonsense", b"a\r\nb", "a\nb"),
        (b"text/html", b"<p>one</p><p>two &amp;", "one\ntwo &"),
        (b"text/richtext", b"<bold>x</bold>", "x"),
        (b"multipart/mixed", b"no boundary", "no boundary"),
        (b"image/png", b"x", ""),
    ],
)
def test_bodies(header: bytes, body: bytes, expected: str) -> None:
    assert parse_mail(b"Content-Type: " + header + b"\n\n" + body).body == expected


def test_plain_text_is_preferred_and_attachments_are_left_out() -> None:
    message = EmailMessage()
    message.set_content("plain é\n", cte="base64")
    message.add_alternative("<p>html</p>", subtype="html")
    message.add_attachment("attached", filename="a.txt")
    message.add_attachment(b"\0\1", "image", "png")
    assert parse_mail(message.as_bytes()).body == "plain é\n"
    only_html = EmailMessage()
    only_html.set_content(" \n")
    only_html.add_alternative("<p>html</p>", subtype="html")
    assert parse_mail(only_html.as_bytes()).body == "html"


@pytest.mark.parametrize(
    ("header", "references", "own"),
    [
        (b"In-Reply-To: message of 1 May <x@y>", ("x@y",), ""),
        (b"Message-ID: bare@id", (), "bare@id"),
        (b"Message-ID:\n <folded@id>", (), "folded@id"),
        (b"References:\nIn-Reply-To: nobody", (), ""),
    ],
)
def test_ids(header: bytes, references: tuple[str, ...], own: str) -> None:
    mail = parse_mail(header + b"\n\nx")
    assert (mail.references, mail.id) == (references, own)


@pytest.mark.parametrize("date", [b"nonsense", b"", b"Fri, 32 Foo 1993 99:99", b"1 Jan 99999999999 00:00:00 +0000"])
def test_an_invalid_date_is_unknown(date: bytes) -> None:
    assert parse_mail(b"Date: " + date + b"\n\nx").date is None


@given(st.binary(max_size=200), st.binary(max_size=100))
def test_any_bytes_are_a_message_or_rejected(header: bytes, body: bytes) -> None:
    for name in (b"Subject: =?", b"Content-Type: multipart/", b"Content-Type: text/plain; charset*=", b"Date: "):
        assert isinstance(parse_mail(name + header + b"\n\n" + body), Mail)


def test_message_files_are_labelled_by_directory(write: Write, documents: Read) -> None:
    write("news/comp.sys.mac/51", NEWS)
    write("news/sci.med/52", b"From: x\nSubject: Hip\n\nHip bones")
    write("news/53", b"From: x\nNewsgroups: a,b\n\nno subject")
    write("news/54", b"Subject: Re:\n\n \n")
    good, bad = documents("news")
    assert good == [
        Document("news/53", "", (Part("no subject"),), "b", {"author": "x"}),
        Document(
            "1@example.org",
            "Fast modems",
            (Part("Hello there."),),
            "comp.sys.mac",
            {"date": "1992-12-31T23:00:00Z", "author": "Some One"},
        ),
        Document("news/sci.med/52", "Hip", (Part("Hip bones"),), "sci.med", {"author": "x"}),
    ]
    assert str(bad[0]).startswith("news/54: there is no text")


def test_an_mbox_of_the_standard_library_is_read_back(tmp_path: Path, documents: Read) -> None:
    path = tmp_path / "a.mbox"
    box = mailbox.mbox(path)
    bodies = ["one\n\nFrom here on it hurts\n", "two\n>From escaped\n", "three\n\n>> From x\n"]
    for number, body in enumerate(bodies):
        message = EmailMessage()
        message["Message-ID"] = f"<{number}@x>"
        message["Subject"] = f"subject {number}"
        message.set_content(body)
        box.add(message)
    box.close()
    good, bad = documents(str(path))
    assert not bad
    assert [(document.key, document.title) for document in good] == [(f"{n}@x", f"subject {n}") for n in range(3)]
    texts = [document.parts[0].text.strip() for document in good]
    assert texts == ["one\n\nFrom here on it hurts", "two\nFrom escaped", "three\n\n>> From x"]


def test_the_start_of_messages_in_an_mbox(write: Write, documents: Read) -> None:
    box = b"""From -123
Subject: first

From the start, this is text.

From here no header follows
but more text
From x@y after a line that is not blank
Header: like

From a@b Mon Jan 1
>From c@d a header of old
Subject: second

text

From e@f
"""
    good, bad = documents(write("a.mbox", box))
    assert not bad
    assert [document.key for document in good] == ["a.mbox:1", "a.mbox:11"]
    assert [document.title for document in good] == ["first", "second"]
    assert "Header: like" in good[0].parts[0].text
    assert good[1].parts[0].text.rstrip().endswith("From e@f")


def test_bad_messages_of_an_mbox(write: Write, documents: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LIMIT", 60)
    box = b"junk\n\nFrom a\nSubject: x\n\n" + b"long\n" * 20 + b"\nFrom a\nSubject: y\n\n" + b"z" * 100
    box += b"\n\nFrom a\nSubject: good\n\nFrom a\nMessage-ID: <i@d>\n\n\0\n\nFrom a\nX: y\n\n"
    good, bad = documents(write("a.mbox", box))
    assert [document.title for document in good] == ["good"]
    assert [rejection.line for rejection in bad] == [1, 3, 27, 35, 40]
    expected = ["text before the first message", "longer than 60", "longer than 60", "NUL", "no text"]
    for rejection, reason in zip(bad, expected, strict=True):
        assert reason in rejection.reason


def test_a_long_preface_and_an_empty_mbox(write: Write, documents: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LIMIT", 10)
    assert len(documents(write("a.mbox", b"no mail\n" * 9))[1]) == 1
    assert documents(write("b.mbox", b"\n\n")) == ([], [])


def test_deeply_nested_messages_are_rejected(write: Write, documents: Read) -> None:
    nested = b"Subject: x\nContent-Type: message/rfc822\n\n" * 5000
    good, bad = documents(write("a.eml", nested), write("a.mbox", b"From a\n" + nested + b"\nFrom b\nSubject: y\n\n"))
    assert [document.title for document in good] == ["y"]
    assert [(rejection.source, rejection.line) for rejection in bad] == [("a.eml", 0), ("a.mbox", 1)]
    assert all("malformed" in rejection.reason for rejection in bad)
