"""Maildirs that the standard library writes are read as documents and as threads."""

import gzip
import mailbox
from email.message import EmailMessage
from pathlib import Path

import pytest

from moverank.indexer.errors import ReadError
from moverank.indexer.values.documents import Document, Part
from tests.indexer.reading.conftest import Read


def message(own: str, body: str, *references: str, day: int = 1) -> EmailMessage:
    mail = EmailMessage()
    if own:
        mail["Message-ID"] = f"<{own}>"
    mail["From"] = "Zoë Q <zoe@example.org>"
    mail["Date"] = f"{day} Mar 2021 12:00:00 +0100"
    mail["Subject"] = "Re: Plugs" if references else "Plugs"
    if references:
        mail["References"] = " ".join(f"<{each}>" for each in references)
    mail.set_content(body)
    return mail


@pytest.fixture
def maildir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> mailbox.Maildir:
    monkeypatch.chdir(tmp_path)
    box = mailbox.Maildir(str(tmp_path / "mail"))
    box.add(message("a", "a question"))
    box.add(message("c", "another answer", "a", "b", day=3))
    box.add_folder("Sent").add(message("b", "> a question\nan answer", "a", day=2))
    return box


@pytest.mark.usefixtures("maildir")
def test_messages_are_documents(documents: Read) -> None:
    found, rejected = documents("mail")
    assert rejected == []
    assert sorted((each.key, each.title, each.label or "") for each in found) == [
        ("a", "Plugs", ""),
        ("b", "Plugs", "Sent"),
        ("c", "Plugs", ""),
    ]
    assert {each.key: each.metadata for each in found}["a"] == {"date": "2021-03-01T11:00:00Z", "author": "Zoë Q"}


@pytest.mark.usefixtures("maildir")
def test_folders_are_joined_to_threads(threads: Read) -> None:
    ((thread,), rejected) = threads("mail")
    assert rejected == []
    parts = (Part("a question"), Part("an answer", 1), Part("another answer", 2))
    metadata = {"date": "2021-03-01T11:00:00Z", "author": "Zoë Q"}
    assert thread == Document("a", "Plugs", parts, None, metadata)


def test_threads_of_an_mbox_are_the_same(maildir: mailbox.Maildir, threads: Read) -> None:
    box = mailbox.mbox("all.mbox")
    for each in (maildir, maildir.get_folder("Sent")):
        for mail in each:
            box.add(mail)
    box.close()
    assert threads("all.mbox") == threads("mail")


def test_the_key_remains_when_a_message_is_read(maildir: mailbox.Maildir, documents: Read, threads: Read) -> None:
    name = maildir.add(message("", "no id"))
    for read in (documents, threads):
        assert f"mail/{name}" in [each.key for each in read("mail")[0]]
    mail = maildir[name]
    mail.set_subdir("cur")
    mail.set_flags("S")
    maildir[name] = mail
    assert list(Path("mail/cur").glob(f"{name}:2,S"))
    for read in (documents, threads):
        assert f"mail/{name}" in [each.key for each in read("mail")[0]]


@pytest.mark.usefixtures("maildir")
def test_bad_messages_are_rejected_by_name(documents: Read, threads: Read) -> None:
    Path("mail/cur/1:2,S").write_bytes(gzip.compress(b"Subject: x\n\nbody")[:-4])
    Path("mail/cur/2:2,S").write_bytes(b"Message-ID: <a>\nSubject: x\n\nbody")
    Path("mail/cur/3:2,S").write_bytes(b"\0\xff")
    found, rejected = documents("mail")
    assert len(found) == 3
    assert len(rejected) == 3
    assert str(rejected[0]).startswith("mail/cur/1:2,S: from here on the gzip data are damaged")
    found, rejected = threads("mail")
    assert len(found) == 1
    assert str(rejected[0]).startswith("mail: cur/1:2,S: from here on the gzip data are damaged")
    assert "its Message-ID is that of cur/2:2,S too" in " ".join(map(str, rejected))


def test_an_empty_maildir_is_an_empty_directory(tmp_path: Path, documents: Read, threads: Read) -> None:
    mailbox.Maildir(str(tmp_path / "empty"))
    for read in (documents, threads):
        with pytest.raises(ReadError, match="there is no file in this directory"):
            read(str(tmp_path))


def test_messages_in_the_trash_and_drafts_are_left_out(
    maildir: mailbox.Maildir, documents: Read, caplog: pytest.LogCaptureFixture
) -> None:
    for flags in ("T", "DS", "RT"):
        mail = mailbox.MaildirMessage(message(flags, "not to be read"))
        mail.set_flags(flags)
        maildir.add(mail)
    found, _ = documents("mail")
    assert sorted(each.key for each in found) == ["a", "b", "c"]
    assert caplog.messages == ["mail: 3 trashed or unsent messages are left out"]
