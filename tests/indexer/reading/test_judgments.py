import gzip
from collections.abc import Callable

import pytest

from moverank.indexer.errors import ReadError
from moverank.indexer.files import gzip_limit
from moverank.indexer.reading import streams
from moverank.indexer.reading.inputs.candidate_lists import CandidateList
from moverank.indexer.reading.inputs.judgments import GENRES, read_candidates, read_labels, read_qrels
from moverank.indexer.reading.inputs.queries import read_queries
from tests.indexer.reading.conftest import Write


def test_judgments_are_columns(write: Write) -> None:
    path = write("qrels", "q1 0 d1 2\nq1\t0\ta key\t0\n\nq2 Q0 d1 -1\r\n")
    assert read_qrels(path) == {"q1": {"d1": 2, "a key": 0}, "q2": {"d1": -1}}
    assert read_qrels(write("qrels.gz", gzip.compress(b"q1 0 d1 1", mtime=0))) == {"q1": {"d1": 1}}


def test_judgments_of_beir_have_a_header_and_three_columns(write: Write) -> None:
    assert read_qrels(write("qrels", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td 3\t0\n")) == {
        "q1": {"d1": 2},
        "q2": {"d 3": 0},
    }
    with pytest.raises(ReadError, match="qrels:1: a judgment needs the form"):
        read_qrels(write("qrels", "q1\td1\t2\n"))


def test_candidates_come_in_the_order_of_their_ranks(write: Write) -> None:
    table = "query_id\tdoc_id\tengine_rank\trel\nq\tb\t2\t0\nq\ta\t1\t1\nother\tb\t7\t0\n"
    ordered = {"q": CandidateList("q", ("a", "b")), "other": CandidateList("other", ("b",))}
    assert read_candidates(write("candidates.tsv", table)) == ordered
    assert read_candidates(write("pairs", "q b\nq a\n")) == {"q": CandidateList("q", ("b", "a"))}


def test_candidates_of_a_run_have_scores(write: Write) -> None:
    run = "q Q0 a 2 9.1 bm25\nq Q0 b 1 9.5 bm25\n"
    assert read_candidates(write("run", run)) == {"q": CandidateList("q", ("b", "a"), (9.5, 9.1))}
    with pytest.raises(ReadError, match=r"run:2: the score of a run must be a number, not 'nan'"):
        read_candidates(write("run", run.replace("9.5", "nan")))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("q 0 d", "qrels:1: a judgment needs the form"),
        ("q 0 d 1\nq 0 d x", "qrels:2: a judgment needs the form"),
        ("q 0 d --1", "qrels:1: a judgment needs the form"),
        ("q 0 d " + "9" * 5000, "qrels:1: a judgment needs the form"),
        ("q 0 d 1\nq 0 d 2", "qrels:2: 'd' has two different grades"),
        (b"q 0 \xff 1", "qrels:1: byte 5 of the line is not UTF-8"),
        ("\n", "qrels: holds no judgment"),
        (gzip.compress(b"q 0 d 1", mtime=0)[:-9], "qrels: the gzip data are damaged"),
    ],
)
def test_bad_judgments_are_named_with_file_and_line(write: Write, content: str | bytes, reason: str) -> None:
    with pytest.raises(ReadError, match=reason):
        read_qrels(write("qrels", content))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("q", "c:1: a candidate needs the form"),
        ("q d x", "c:1: a candidate needs the form"),
        ("q d -1", "c:1: a candidate needs the form"),
        ("q d " + "9" * 5000, "c:1: a candidate needs the form"),
        ("q d\nq d", "c:2: 'd' is a candidate of 'q' already"),
        ("query doc rank\n", "c: holds no candidate"),
    ],
)
def test_bad_candidates_are_named_with_file_and_line(write: Write, content: str, reason: str) -> None:
    with pytest.raises(ReadError, match=reason):
        read_candidates(write("c", content))


def test_labels_follow_a_tab_or_are_flags_of_a_film(write: Write) -> None:
    assert read_labels(write("labels", "a key\tred, blue\n\nb\t\n")) == {"a key": {"red", "blue"}, "b": set()}
    flags = "|".join("1" if name in ("Drama", "War") else "0" for name in GENRES)
    film = f"7|Caf\xe9 (1995)|01-Jan-1995||http://x|{flags}\n".encode("latin-1")
    assert read_labels(write("u.item", film)) == {"7": {"Drama", "War"}}


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"a", "l:1: labels need the form"), (b"a\tb\n\xff\tc", "l:2: byte 1 of"), (b"\n", "l: holds no label")],
)
def test_bad_labels_are_named_with_file_and_line(write: Write, content: bytes, reason: str) -> None:
    with pytest.raises(ReadError, match=reason):
        read_labels(write("l", content))


READERS: list[tuple[Callable[[str], object], bytes]] = [
    (read_qrels, b"q 0 d 1\n"),
    (read_candidates, b"q d\n"),
    (read_labels, b"a\tred\n"),
    (read_queries, b"cat\n"),
]


@pytest.mark.parametrize(("read", "line"), READERS)
@pytest.mark.parametrize("cut", [1, 9, 18])
def test_a_truncated_gzip_file_is_refused(write: Write, read: Callable[[str], object], line: bytes, cut: int) -> None:
    path = write("f.gz", gzip.compress(line, mtime=0)[:-cut])
    with pytest.raises(ReadError, match=r"^f\.gz: the gzip data are damaged or cut short: [^\n]+$"):
        read(path)


@pytest.mark.parametrize(("read", "line"), READERS)
def test_a_gzip_bomb_is_refused(
    write: Write, monkeypatch: pytest.MonkeyPatch, read: Callable[[str], object], line: bytes
) -> None:
    monkeypatch.setattr(gzip_limit, "ALWAYS_ALLOWED", 1 << 20)
    path = write("f", gzip.compress(line + (b" " * 1023 + b"\n") * (1 << 12)))
    with pytest.raises(ReadError, match=r"^f: unzipped it is over 200 times as long, [^\n]+$"):
        read(path)


@pytest.mark.parametrize(("read", "line"), READERS)
def test_gzip_and_a_byte_order_mark_make_no_difference(
    write: Write, read: Callable[[str], object], line: bytes
) -> None:
    plain = read(write("f", line))
    assert read(write("f", b"\xef\xbb\xbf" + line)) == plain
    assert read(write("f", gzip.compress(line))) == plain


@pytest.mark.parametrize(("read", "line"), READERS)
def test_a_line_beyond_the_limit_is_refused(
    write: Write, monkeypatch: pytest.MonkeyPatch, read: Callable[[str], object], line: bytes
) -> None:
    monkeypatch.setattr(streams, "LIMIT", 10)
    with pytest.raises(ReadError, match=r"^f:2: the line is longer than 10 bytes: split it"):
        read(write("f", line + b"x" * 11))


@pytest.mark.parametrize(("path", "reason"), [("missing", "No such file or directory"), ("folder", "Is a directory")])
@pytest.mark.parametrize(("read", "line"), READERS)
def test_a_path_that_is_not_a_file_is_refused(
    write: Write, read: Callable[[str], object], line: bytes, path: str, reason: str
) -> None:
    write("folder/a", line)
    write("folder/b", line)
    with pytest.raises(ReadError, match=f"^{path}: cannot be read: {reason}"):
        read(path)
