import mailbox
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.reading import streams
from moverank.indexer.reading.formats.mail import Mail, parse_mail
from moverank.indexer.values.documents import Document, Part
from tests.indexer.reading.conftest import Read, Write

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
    box += b"\n\nFrom a\nSubject: good\n\nFrom a\nMessage-ID: <i@d>\n\n\0\n\nFrom a\nX-Y: y\n\n"
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


def _multipart(kind: str, *parts: str) -> bytes:
    inside = "".join(f"--B\n{part}\n" for part in parts)
    return f"Content-Type: multipart/{kind}; boundary=B\n\n{inside}--B--\n".encode()


HTML, PLAIN = "Content-Type: text/html\n\n<p>The plug is hot.</p>", "Content-Type: text/plain\n\nThe plug is hot."
LOG = 'Content-Type: text/plain; name="a.log"\nContent-Disposition: inline; filename="a.log"\n\n12:00 started'
MAIL = "Content-Type: message/rfc822\n\nSubject: old\n\nAn old message."


@pytest.mark.parametrize(
    "message",
    [
        _multipart("mixed", HTML, LOG),
        _multipart("mixed", PLAIN, LOG),
        _multipart("mixed", HTML, MAIL),
        _multipart("mixed", PLAIN, MAIL),
        _multipart("mixed", PLAIN, MAIL.replace("\n\n", "\nContent-Disposition: attachment\n\n", 1)),
        _multipart("alternative", "Content-Type: text/plain\n\n \n", HTML),
        _multipart("alternative", HTML, PLAIN),
        _multipart("related", HTML, LOG),
        _multipart("related", HTML, "Content-Type: text/html\n\n<p>a frame</p>"),
        _multipart("signed", PLAIN, "Content-Type: application/pgp-signature\n\nabc"),
        _multipart(
            "report", PLAIN, "Content-Type: message/delivery-status\n\nReporting-MTA: x\n\nAction: failed\n", MAIL
        ),
    ],
)
def test_the_text_is_that_of_the_author(message: bytes) -> None:
    assert parse_mail(message).body.strip() == "The plug is hot."


def test_several_bodies_are_read_and_the_messages_of_a_digest() -> None:
    assert parse_mail(_multipart("mixed", PLAIN, HTML.replace("hot", "red"))).body.split("\n") == [
        "The plug is hot.",
        "The plug is red.",
    ]
    digest = parse_mail(_multipart("digest", "\nSubject: one\n\nFirst.", "\nSubject: two\n\nSecond."))
    assert digest.body.split() == ["First.", "Second."]
    assert parse_mail(_multipart("mixed", MAIL)).body == "An old message."


@pytest.mark.parametrize(
    ("header", "id_"),
    [
        (b"Message-ID: <>", ""),
        (b"Message-ID:", ""),
        (b"Message-ID: < >", ""),
        (b"Message-ID: <a\n b@x.org>", "ab@x.org"),
        (b"Message-ID:\n <a@x.org>", "a@x.org"),
        (b"Message-ID: bare@id", "bare@id"),
        (b"Message-ID: a@x.org (added by relay)", "a@x.org"),
    ],
)
def test_message_ids(header: bytes, id_: str) -> None:
    mail = parse_mail(header + b"\n\nx")
    assert (mail.references, mail.id) == ((), id_)


@pytest.mark.parametrize(
    ("headers", "references"),
    [
        ("In-Reply-To: <a@x> <b@x>", ["a@x", "b@x"]),
        ("In-Reply-To: Message from Bob <bob@example.org> of Monday <a@x>", ["a@x"]),
        ('In-Reply-To: Your message of "Mon, 1 Mar 2021" <a@x>', ["a@x"]),
        ('In-Reply-To: <a@x> from "Bob" <bob@example.org> at Mar 1', ["a@x"]),
        ("In-Reply-To: Bob <bob@example.org>'s message of Monday, <a@x>", ["a@x"]),
        ("In-Reply-To: Bob Smith <bob@example.org>", []),
        ("To: Bob <bob@example.org>\nIn-Reply-To: <bob@example.org>", []),
        ("Cc: list@example.org\nReferences: <list@example.org> <a@x>", ["a@x"]),
        ("References: <a@x>\n\t<b@x>\nIn-Reply-To: <c@x>", ["a@x", "b@x"]),
        ("References: <>\nIn-Reply-To: <c@x>", ["c@x"]),
        ("In-Reply-To: message of 1 May <x@y>", ["x@y"]),
        ("References:\nIn-Reply-To: nobody", []),
    ],
)
def test_addresses_are_no_references(headers: str, references: list[str]) -> None:
    mail = parse_mail(f"{headers}\n\nx".encode())
    assert (list(mail.references), mail.id) == (references, "")


@pytest.mark.parametrize(
    ("date", "seconds"),
    [
        (b"Mon, 1 Mar 2021 10:00:00 +0000", 1614592800.0),
        (b"Mon, 1 Mar 2021 10:00:00 -0000", 1614592800.0),
        (b"Mon, 1 Mar 2021 10:00:00 +0530", 1614573000.0),
        (b"Mon, 1 Mar 121 10:00:00 +0000", None),
        (b"Wed, 31 Feb 2021 10:00:00 +0000", None),
        (b"Mon, 1 Mar 2021 10:00:00 +9999", None),
        (b"Mon, 1 Mar 2021 25:00:00 +0000", None),
        (b"yesterday", None),
        (b"", None),
        (b"Fri, 32 Foo 1993 99:99", None),
        (b"1 Jan 99999999999 00:00:00 +0000", None),
    ],
)
def test_impossible_dates_are_unknown(date: bytes, seconds: float | None) -> None:
    assert parse_mail(b"Date: " + date + b"\n\nx").date == seconds


def test_broken_and_countless_encoded_words_stay_as_they_are_written() -> None:
    assert parse_mail(b"Subject: =?utf-8?B?a?=\n\nx").subject == "=?utf-8?B?a?="
    many = "=?utf-8?q?a?= " * 200_000
    assert parse_mail(f"Subject: {many}\n\nx".encode()).subject == many.strip()


def _message(number: int) -> str:
    return f"From a@x.org Mon Mar  1 10:00:00 2021\nSubject: {number}\nMessage-ID: <{number}@x>\n\nText {number}.\n"


def test_messages_of_an_mbox_need_no_blank_line_between_them(write: Write, documents: Read) -> None:
    good, bad = documents(write("a.mbox", "".join(map(_message, range(3)))))
    assert not bad
    assert [(one.key, [part.text for part in one.parts]) for one in good] == [
        (f"{i}@x", [f"Text {i}.\n"]) for i in range(3)
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "From the leaflet of the heater I copied this\nWarning: never open the socket.",
        "From 10:00 to 11:00 it was hot\nNote: it was off.",
        "From here on\nhttp://example.org is read",
    ],
)
def test_a_sentence_does_not_split_a_message(write: Write, documents: Read, sentence: str) -> None:
    good, bad = documents(write("a.mbox", f"{_message(1)}\n{sentence}\n\nThe end.\n\n{_message(2)}"))
    assert not bad
    assert [one.key for one in good] == ["1@x", "2@x"]
    assert sentence in good[0].parts[0].text


@pytest.mark.parametrize(
    "line", ["From 7734238238", "From -12345", "From - Mon Mar  1 10:00:00 2021", "From ann@x.org"]
)
def test_lines_before_messages_of_several_archives(write: Write, documents: Read, line: str) -> None:
    good, _ = documents(write("a.mbox", f"{line}\nFrom: a\n\none\n\n{line}\nSubject: x\n\ntwo\n"))
    assert [one.parts[0].text.strip() for one in good] == ["one", "two"]


def test_bytes_of_no_charset_are_reported_once(write: Write, documents: Read, caplog: pytest.LogCaptureFixture) -> None:
    one = b"From a@x Mon Mar  1 10:00:00 2021\nContent-Type: text/plain; charset=utf-8\n\nhei\xc3\x9f \xff\n\n"
    good, _ = documents(write("a.mbox", one * 2))
    assert [document.parts[0].text.strip() for document in good] == ["heiß \N{REPLACEMENT CHARACTER}"] * 2
    assert [record.getMessage() for record in caplog.records] == [
        "a.mbox:1: bytes that are not of the charset utf-8, which is declared, are read as \N{REPLACEMENT CHARACTER}"
    ]


def test_messages_that_thunderbird_deleted_are_left_out(
    write: Write, documents: Read, caplog: pytest.LogCaptureFixture
) -> None:
    mails = [
        f"From - Mon Mar  1 10:00:00 2021\nX-Mozilla-Status: {status}\nSubject: {status}\n\nx\n\n"
        for status in ("0001", "0009", "0008")
    ]
    good, _ = documents(write("a.mbox", "".join(mails)))
    assert [each.title for each in good] == ["0001"]
    assert caplog.messages == ["a.mbox: 2 deleted messages are left out"]
