import gzip
import itertools

import pytest

from moverank.indexer.values.documents import Document, Part
from tests.indexer.reading.conftest import Read, Write

Message = tuple[str, str, str]


def mail(own: str = "", refs: str = "", body: str = "", day: int = 0, **headers: str) -> str:
    lines = ["From x@y"]
    lines += [f"Message-ID: <{own}>"] if own else []
    lines += ["References: " + " ".join(f"<{ref}>" for ref in refs.split())] if refs else []
    lines += [f"Date: {day} Mar 2001 12:00:00 +0000"] if day else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\n".join([*lines, "Subject: " + ("Re: " if refs else "") + "Plugs", "", body or f"says {own}", "", ""])


def test_replies_follow_the_opening_post_by_date(write: Write, threads: Read) -> None:
    box = [
        mail("c", "a b", day=3),
        mail("other", day=9),
        mail("b", "a", day=2, body="> says a\nsays b\n>> more\n-- \nsignature"),
        mail("a", day=1, body="> a motto\nsays a\n\n-- \nsignature", Newsgroups="alt.x,alt.y"),
        mail("d", day=4, In_Reply_To="your message <c>"),
        mail("e", "a", day=5, body="> nothing of its own"),
    ]
    good, bad = threads(write("a.mbox", "".join(box)))
    assert not bad
    by_key = {document.key: document for document in good}
    parts = (Part("> a motto\nsays a"), Part("says b", 1), Part("says c", 2), Part("says d", 3))
    assert by_key.pop("a") == Document("a", "Plugs", parts, "alt.y", {"date": "2001-03-01T12:00:00Z"})
    assert by_key == {
        "other": Document("other", "Plugs", (Part("says other"),), metadata={"date": "2001-03-09T12:00:00Z"})
    }


def test_any_order_of_the_file_gives_the_same_threads(write: Write, threads: Read) -> None:
    box = [mail("a", day=1), mail("b", "a", day=2), mail("c", "b", day=3), mail("d", "a b", day=4)]
    results = [threads(write("a.mbox", "".join(order))) for order in itertools.permutations(box)]
    assert all(item == results[0] for item in results)
    assert [part.text for part in results[0][0][0].parts] == ["says a", "says b", "says c", "says d"]


def test_a_missing_opening_post_still_groups_the_thread_and_is_its_key(write: Write, threads: Read) -> None:
    good, _ = threads(write("a.mbox", mail("c", "gone b", day=3) + mail("d", "gone", day=2)))
    assert [(document.key, len(document.parts)) for document in good] == [("gone", 2)]
    assert (good[0].title, good[0].parts[0].text) == ("Plugs", "says d")


def test_without_all_dates_posts_are_in_file_order(write: Write, threads: Read) -> None:
    good, _ = threads(write("a.mbox", mail("a", day=9) + mail("b", "a") + mail("c", "a", day=1)))
    assert [part.text for part in good[0].parts] == ["says a", "says b", "says c"]


def test_messages_without_an_id_are_threads_of_their_own(write: Write, threads: Read) -> None:
    good, _ = threads(write("a.mbox", mail(body="one") + mail(body="two") + mail(refs="x", body="three") + mail("x")))
    assert {document.key: len(document.parts) for document in good} == {"a.mbox:1": 1, "a.mbox:6": 1, "x": 2}


def test_cyclic_references(write: Write, threads: Read) -> None:
    good, bad = threads(write("a.mbox", mail("a", "b") + mail("b", "a") + mail("c", "c")))
    assert {(document.key, len(document.parts)) for document in good} == {("b", 2), ("c", 1)}
    assert not bad


@pytest.mark.slow
def test_a_long_chain(write: Write, threads: Read) -> None:
    box = [mail("m0", day=1)] + [mail(f"m{i}", f"m{i - 1}", day=2) for i in range(1, 3000)]
    good, _ = threads(write("a.mbox", "".join(reversed(box))))
    assert [(document.key, len(document.parts)) for document in good] == [("m0", 3000)]


def test_bad_messages(write: Write, threads: Read) -> None:
    good, bad = threads(write("a.mbox", "junk\n\n" + mail("a") + mail("a", body="again") + mail("b", body="\0")))
    assert [document.key for document in good] == ["a"]
    reasons = sorted((rejection.line, rejection.reason, rejection.key) for rejection in bad)
    assert reasons[0][1].startswith("there is text before")
    assert reasons[1] == (9, "its Message-ID is that of line 3 too", "a")
    assert "NUL" in reasons[2][1]
    assert reasons[2][2] == "b"


@pytest.mark.slow
def test_a_cut_gzip_keeps_the_messages_before(write: Write, threads: Read) -> None:
    box = "".join(mail(f"m{i}", body=str(i * 7919 % 10_007)) for i in range(5000))
    good, bad = threads(write("a.mbox.gz", gzip.compress(box.encode())[:-2000]))
    assert 1000 < len(good) < 5000
    assert len(bad) == 1


@pytest.mark.parametrize("name", ["-", "a"])
def test_an_mbox_is_detected_by_its_content(
    write: Write, threads: Read, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("a", mail("a"))
    with open(path, encoding="utf-8") as stdin:  # noqa: PTH123
        monkeypatch.setattr("sys.stdin", stdin)
        assert [document.key for document in threads(name)[0]] == ["a"]
