import pytest

from moverank.indexer.values.documents import Document, Part
from tests.indexer.reading.conftest import Read, Write


def test_a_text_file_is_one_document(write: Write, documents: Read) -> None:
    write("d/sub/a.txt", b"\xef\xbb\xbf\r\n  A first line\r\nand more\r\n")
    assert documents("d") == (
        [Document("d/sub/a.txt", "A first line", (Part("\n  A first line\nand more\n"),))],
        [],
    )
    assert documents("d/sub/a.txt")[0][0].key == "d/sub/a.txt"
    assert documents("d/*/*.txt")[0][0].key == "d/sub/a.txt"


def test_a_title_has_at_most_80_characters(write: Write, documents: Read) -> None:
    assert documents(write("a.md", "x" * 100))[0][0].title == "x" * 80


@pytest.mark.parametrize(
    ("text", "title", "counts"),
    [
        ("x" * 79 + " yz", "x" * 79, True),
        ("x" * 80 + ", yz", "x" * 80, True),
        ("x" * 80 + "\nyz", "x" * 80, True),
        ("x" * 75 + " words", "x" * 75 + " word", False),
    ],
)
def test_a_title_that_is_cut_within_a_word_does_not_count(
    write: Write, documents: Read, text: str, title: str, counts: bool
) -> None:
    good, _ = documents(write("a.md", text))
    assert good == [Document("a.md", title, (Part(text),), title_counts=counts)]


def test_lines(write: Write, documents: Read) -> None:
    path = write("a.txt", b"one\n\n  \t\ntwo\r\n\xff\xfe bad\nthree")
    good, bad = documents(path, format="lines")
    assert good == [Document(f"a.txt:{n}", t, (Part(t),)) for n, t in ((1, "one"), (4, "two"), (6, "three"))]
    assert str(bad[0]).startswith("a.txt:5: byte 1 of the line is not UTF-8")


def test_labelled_lines(write: Write, documents: Read) -> None:
    path = write("a.txt", "good\tone\tand a tab\n\nbad\ttwo\n")
    assert documents(path)[0] == [
        Document("a.txt:1", "one\tand a tab", (Part("one\tand a tab"),), "good"),
        Document("a.txt:3", "two", (Part("two"),), "bad"),
    ]
    path = write("b.txt", "good\tone\nno tab\n\tno label\nlabel\t \nbad\ttwo\nx\t\xff\n".encode("latin-1"))
    good, bad = documents(path, format="labelled-lines")
    assert [document.key for document in good] == ["b.txt:1", "b.txt:5"]
    assert [rejection.line for rejection in bad] == [2, 3, 4, 6]
    assert [rejection.reason.split(":")[1] for rejection in bad[:2]] == [" its label or its tab is missing"] * 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"line one\nline \xe9t\xe9\n", "byte 15 of the file, in line 2, is not UTF-8"),
        (b"", "there is no text"),
        (b" \n\n", "there is no text"),
        (b"\x89PNG\r\n\0\0", "NUL"),
        (b"\xff\xfe\0\xd8", "byte 3 of the file is not utf-16"),
        (b"%PDF-1.4 text", "it is a PDF file, and no text: leave it out, or extract its text by --pre COMMAND"),
        (b"x" * 100_000 + b"\0", "NUL character"),
    ],
)
def test_a_file_that_is_not_text(write: Write, documents: Read, content: bytes, reason: str) -> None:
    write("d/a.txt", content)
    write("d/b.txt", "good")
    good, bad = documents("d")
    assert [document.key for document in good] == ["d/b.txt"]
    assert [rejection.source for rejection in bad] == ["d/a.txt"]
    assert reason in bad[0].reason
    assert bad[0].line == 0
