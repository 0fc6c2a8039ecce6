import gzip
from html import escape
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.reading import streams
from moverank.indexer.values.documents import Document, Part
from tests.indexer.reading.conftest import Read, Write


def row(**attributes: object) -> str:
    return "  <row " + " ".join(f'{name}="{escape(str(value))}"' for name, value in attributes.items()) + " />\n"


def question(number: object, **attributes: object) -> str:
    return row(Id=number, PostTypeId=1, **{"Title": f"title {number}", "Body": f"<p>body {number}</p>"} | attributes)


def answer(number: object, parent: object, **attributes: object) -> str:
    return row(Id=number, PostTypeId=2, ParentId=parent, **{"Body": f"<p>answer {number}</p>"} | attributes)


def dump(*rows: str) -> str:
    return '<?xml version="1.0" encoding="utf-8"?>\n<posts>\n' + "".join(rows) + "</posts>\n"


def texts(document: Document) -> list[str]:
    assert [part.rank for part in document.parts] == list(range(len(document.parts)))
    return [part.text for part in document.parts]


def test_accepted_first_then_votes_then_order(write: Write, threads: Read) -> None:
    rows = (
        answer(10, 1, Score=3),  # even before its question
        question(1, Title="A & B  <x>", Tags="<home><plug>", Score=7, AcceptedAnswerId=13),
        answer(11, 1, Score=9),
        row(Id=2, PostTypeId=5, Body="tag wiki"),
        question(3, Tags="|a|b|"),
        answer(12, 1, Score=3),
        answer(13, 1, Score=-2, Body="<p>yes<br>really</p><script>no</script>"),
        answer(14, 1, Score=99, Body=" <p></p>"),
    )
    good, bad = threads(write("Posts.xml", dump(*rows)))
    assert not bad
    by_key = {document.key: document for document in good}
    assert texts(by_key["1"]) == ["body 1", "yes\nreally", "answer 11", "answer 10", "answer 12"]
    assert by_key["1"].title == "A & B <x>"
    assert by_key["1"].metadata == {"tags": ["home", "plug"], "score": 7}
    assert by_key["3"] == Document("3", "title 3", (Part("body 3"),), None, {"tags": ["a", "b"], "score": 0})


def test_bad_rows(write: Write, threads: Read) -> None:
    rows = (
        question(1),
        row(PostTypeId=1, Title="no id"),
        row(Id=3, Title="no type"),
        question("x"),
        answer(5, ""),
        question(6, Score="many"),
        answer(7, 99),
        question(8, Title="", Body=""),
        question(1, Title="again"),
        question(9, Body="a&#xD800;b" if False else "fine"),
    )
    good, bad = threads(write("Posts.xml", dump(*rows)))
    assert {document.key for document in good} == {"1", "9"}
    reasons = {rejection.line: rejection.reason for rejection in bad}
    expected = {
        4: "needs a whole number as its Id, not None",
        5: "no PostTypeId",
        6: "Id, not 'x'",
        7: "ParentId, not ''",
        8: "Score, not 'many'",
        9: "it answers the question 99, which is not in the file",
        10: "there is no text",
        11: "already taken by Posts.xml:3",
    }
    assert reasons.keys() == expected.keys()
    for line, reason in expected.items():
        assert reason in reasons[line]


def test_the_shuffled_file_has_the_same_threads(write: Write, threads: Read) -> None:
    rng = Random(1)  # noqa: S311 - an order, not a secret
    rows = [question(i) for i in range(50)]
    rows += [answer(100 + i, rng.randrange(50), Score=i) for i in range(200)]
    straight, _ = threads(write("Posts.xml", dump(*rows)))
    rng.shuffle(rows)
    shuffled, bad = threads(write("b.xml.gz", gzip.compress(dump(*rows).encode())))
    assert not bad
    assert sorted(straight, key=lambda d: d.key) == sorted(shuffled, key=lambda d: d.key)


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (dump(question(1), "<row Id='2' <\n"), 4, "broken XML at column 13: not well-formed"),
        (dump(question(1)).replace("</posts>", ""), 5, "broken XML at column 1: no element found"),
        (dump(question(1)).encode() + b"\xff", 5, "not well-formed"),
    ],
)
def test_broken_xml_keeps_what_came_before(
    write: Write, threads: Read, content: str | bytes, line: int, reason: str
) -> None:
    good, bad = threads(write("Posts.xml", content))
    assert [document.key for document in good] == ["1"]
    assert [rejection.line for rejection in bad] == [line]
    assert reason in bad[0].reason


def test_a_file_of_another_table_is_rejected(write: Write, threads: Read) -> None:
    good, bad = threads(write("Badges.xml", "<?xml version='1.0'?>\n<badges><row Id='1'/></badges>"))
    assert not good
    assert str(bad[0]) == "Badges.xml:2: the file holds <badges>, not <posts>: only Posts.xml has threads"


@pytest.mark.parametrize(
    "dtd",
    [
        '<!DOCTYPE posts [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>',
        '<!DOCTYPE posts [<!ENTITY a SYSTEM "file:///etc/hostname">]>',
        '<!DOCTYPE posts SYSTEM "http://localhost/x.dtd">',
    ],
)
def test_a_dtd_is_refused(write: Write, threads: Read, dtd: str) -> None:
    path = write("Posts.xml", f"<?xml version='1.0'?>\n{dtd}\n<posts><row Id='1' PostTypeId='1' Title='&b;'/></posts>")
    found, (rejection,) = threads(path)
    assert found == []
    assert str(rejection).startswith("Posts.xml:2: the file has a DTD, which is not safe to read")


@pytest.mark.slow
def test_a_cut_gzip_keeps_the_threads_before(write: Write, threads: Read) -> None:
    rows = [question(i, Body=f"{i * 7919 % 10_007}") for i in range(20_000)]
    path = write("Posts.xml.gz", gzip.compress(dump(*rows).encode())[:-1000])
    good, bad = threads(path)
    assert 10_000 < len(good) < 20_000
    assert len(bad) == 1
    assert "gzip" in bad[0].reason
    assert abs(bad[0].line - len(good)) < 1000


def test_a_row_without_end(write: Write, threads: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LIMIT", 100_000)
    path = write("Posts.xml", dump(question(1)).replace("</posts>", '<row Id="') + "1" * 1_000_000)
    good, bad = threads(path)
    assert [document.key for document in good] == ["1"]
    assert "the row is longer than 100,000 bytes" in bad[0].reason


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(-3, 3)), max_size=12), st.integers(0, 5))
def test_every_answer_is_found_once(
    write: Write, threads: Read, answers: list[tuple[int, bool, int]], questions: int
) -> None:
    rows = [question(i, AcceptedAnswerId=100) for i in range(questions)]
    rows += [answer(100 + n, parent, Score=score) for n, (parent, _, score) in enumerate(answers)]
    good, bad = threads(write("Posts.xml", dump(*rows)))
    assert len(good) == questions
    assert len(bad) == sum(parent >= questions for parent, _, _ in answers)
    for document in good:
        mine = [(100 + n, score) for n, (parent, _, score) in enumerate(answers) if str(parent) == document.key]
        mine.sort(key=lambda item: (item[0] != 100, -item[1], item[0]))
        assert texts(document)[1:] == [f"answer {number}" for number, _ in mine]


@pytest.mark.parametrize(
    ("bad", "read"),
    [
        ("&#x0E;", "\N{REPLACEMENT CHARACTER}"),
        ("&#9999999;", "\N{REPLACEMENT CHARACTER}"),
        ("\x0e", "\N{REPLACEMENT CHARACTER}"),
        ("caf&eacute; &nosuch; &amp;amp;", "café &nosuch; &"),
        ("a & b&c", "a & b&c"),
    ],
)
def test_characters_that_are_not_xml_are_replaced(
    write: Write, threads: Read, caplog: pytest.LogCaptureFixture, bad: str, read: str
) -> None:
    text = dump(question(1), question(2, Body="x BAD"), answer(20, 2), question(3), answer(10, 1, Body="x BAD"))
    good, rejections = threads(write("Posts.xml", text.replace("BAD", bad)))
    assert {one.key: texts(one) for one in good} == {
        "1": ["body 1", f"x {read}"],
        "2": [f"x {read}", "answer 20"],
        "3": ["body 3"],
    }
    assert not rejections
    (note,) = [record.getMessage() for record in caplog.records]
    assert note == "Posts.xml:4: characters of this row, and of 1 more, are not allowed in XML, and replaced"


def test_a_row_that_is_not_xml_is_rejected_alone(write: Write, threads: Read) -> None:
    text = dump(
        question(1), question(2, Body="BAD"), answer(20, 2), question(3), answer(10, 1, Body="BAD"), answer(11, 1)
    )
    good, rejections = threads(write("Posts.xml", text.replace("BAD", "<b>")))
    assert {one.key: texts(one) for one in good} == {"1": ["body 1", "answer 11"], "3": ["body 3"]}
    broken = [one for one in rejections if "broken XML" in one.reason]
    assert [(one.line, one.key) for one in broken] == [(4, "2"), (7, "1")]
    assert all(one.part and not one.ends for one in broken)


def test_bytes_that_are_not_of_the_encoding_are_replaced(write: Write, threads: Read) -> None:
    text = dump(question(1), question(2, Body="BAD"), question(3)).encode().replace(b"BAD", b"caf\xe9")
    good, bad = threads(write("Posts.xml", text))
    assert not bad
    assert {one.key: texts(one) for one in good} == {
        "1": ["body 1"],
        "2": ["caf\N{REPLACEMENT CHARACTER}"],
        "3": ["body 3"],
    }


def test_rows_need_no_lines(write: Write, threads: Read) -> None:
    text = dump(question(1), question(2, Body="NO"), question(3), answer(30, 3)).replace("\n", "").replace("NO", "<")
    good, (rejection,) = threads(write("Posts.xml", text))
    assert {one.key: len(one.parts) for one in good} == {"1": 1, "3": 2}
    assert (rejection.line, rejection.key) == (1, "2")


def test_a_cut_file_says_that_it_ends_early(write: Write, threads: Read) -> None:
    text = dump(question(1), answer(10, 1), question(2))
    for cut in range(text.index("<row"), len(text) - 1):
        good, bad = threads(write("Posts.xml", text[:cut]))
        assert [one.ends for one in bad][-1:] == ([] if text[cut:].strip() == "" else [True]), cut
        assert len(good) <= 2


def test_deleted_posts_are_left_out(write: Write, threads: Read, caplog: pytest.LogCaptureFixture) -> None:
    rows = question(1), answer(10, 1, DeletionDate="2021-03-01T00:00:00"), answer(11, 1)
    (found,), bad = threads(write("Posts.xml", dump(*rows)))
    assert not bad
    assert texts(found) == ["body 1", "answer 11"]
    assert caplog.messages == ["Posts.xml: 1 deleted post is left out"]


@pytest.mark.parametrize("name", ["Id", "PostTypeId", "ParentId"])
def test_a_row_whose_number_is_damaged_may_be_a_post_of_any_thread(write: Write, threads: Read, name: str) -> None:
    text = dump(question(1), question(2), answer(20, 2)).encode()
    row = text.index(b'Id="20"') if name == "ParentId" else text.index(b'<row Id="2"')
    place = text.index(f' {name}="'.encode(), row) + len(name) + 3
    _, rejections = threads(write("Posts.xml", text[:place] + b"\xff" + text[place + 1 :]))
    assert [one.part for one in rejections if "is damaged" in one.reason] == [True]
