"""Feeds malformed records and files of word vectors to the readers: what falls over, hangs, or loses the rest.

Records of every format are changed at random, with untouched ones between them: each untouched one has to come out,
each other one as a document or with a reason. Files of word vectors are flipped, cut, repeated and mixed: importing
one works, or is refused by VectorsError.
"""

import argparse
import gzip
import json
import random
import signal
import struct
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank.indexer.documents import Document
from moverank.indexer.errors import VectorsError
from moverank.indexer.readers import read_documents, read_threads
from moverank.indexer.vectors import import_vectors
from tests.benchmarks.common import show_table, verdict

HEADS = ("what", "malformed", "accepted", "refused", "fell over", "hung", "good ones lost", "")
PATIENCE = 60
_A_FILE = 500
_NASTY = (
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\x1b[31m",
    b'"',
    b"\\",
    b"\\ud800",
    b"{",
    b"]",
    b",",
    b"\t",
    b"1e999",
    b"NaN",
)


class Hung(Exception):  # noqa: N818 - what happened
    """It took too long."""


@contextmanager
def patience(seconds: int = PATIENCE) -> Iterator[None]:
    """Raise Hung after some seconds."""

    def ring(*_: object) -> None:
        raise Hung

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


@contextmanager
def counted(what: str, tally: Counter[str]) -> Iterator[None]:
    """Count what hangs and what falls over."""
    try:
        with patience():
            yield
    except Hung:
        tally["hung"] += 1
    except Exception:  # noqa: BLE001 - counted, whatever it is
        tally["fell over"] += 1
        sys.stderr.write(f"{what}: {traceback.format_exc(limit=-4)}\n")


def spoiled(record: bytes, rng: random.Random) -> bytes:
    """Change a record: bytes lost, doubled, replaced or put in."""
    data = bytearray(record)
    for _ in range(rng.choice([1, 1, 2, 5])):
        place = rng.randrange(len(data) + 1)
        end = min(len(data), place + rng.choice([1, 1, 3, 20]))
        change = rng.randrange(4)
        if change == 0:
            del data[place:end]
        elif change == 1:
            data[place:place] = data[place:end] * rng.choice([1, 2, 50])
        elif change == 2:
            data[place:place] = rng.choice(_NASTY)
        else:
            data[place:end] = rng.randbytes(end - place)
    return bytes(data)


def one_line(record: bytes) -> bytes:
    """Keep a record on its line."""
    return record.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"


def json_line(i: int) -> bytes:
    """Return a record of JSON lines, with a list and a number."""
    return json.dumps({"id": f"k{i}", "title": "T", "text": "ant bee", "n": 1.5, "tags": ["a", None]}).encode()


def thread_line(i: int) -> bytes:
    """Return a thread."""
    comments = [{"text": "bee", "rank": 1, "score": 2.5, "accepted": True}, {"text": "cat"}]
    return json.dumps({"id": f"k{i}", "title": "ant", "body": "b", "comments": comments}).encode()


def csv_line(i: int) -> bytes:
    """Return a row."""
    return f"k{i},title,ant bee,3".encode()


def mail(i: int) -> bytes:
    """Return a message of an mbox."""
    lines = f"From a@b Thu Jan 1\nMessage-ID: <k{i}>\nSubject: =?utf-8?q?ant?=\nReferences: <x@{i}>\n"
    return f"{lines}Content-Type: text/plain; charset=utf-8\n\nbee cat\n".encode()


def mixed(kind: str, rng: random.Random, count: int) -> tuple[bytes, set[str]]:
    """Return a file with `count` malformed records, and the keys of the good ones between."""
    make = {"jsonl": json_line, "threads": thread_line, "csv": csv_line, "mbox": mail}[kind]
    pieces, good = [b"id,title,text,n\n"] if kind == "csv" else [], set()
    for i in range(count):
        bad = spoiled(make(10**6 + i), rng)
        if kind == "csv":  # an open quotation mark takes all that follows with it: that is told, and no reader's fault
            bad = bad.replace(b'"', b"'")
        pieces.append(one_line(bad) if kind != "mbox" else b"From x Thu Jan 1\nX: y\n\n" + bad + b"\n\n")
        if i % 10 == 0:
            pieces.append(make(i) + (b"\n" if kind != "mbox" else b"\n\n"))
            good.add(f"k{i}")
    return b"".join(pieces), good


def read(path: Path, kind: str) -> tuple[Counter[str], set[str]]:
    """Read a file; return how many came out as what, and the keys of documents."""
    found = read_threads([str(path)]) if kind == "threads" else read_documents([str(path)])
    tally, keys = Counter[str](), set()
    for record in found:
        if isinstance(record, Document):
            tally["accepted"] += 1
            keys.add(record.key.strip("<>"))
        else:
            tally["refused"] += 1
            tally["fell over"] += "\n" in str(record.reason)
    return tally, keys


def records(kind: str, count: int, rng: random.Random, folder: Path) -> list[object]:
    """Read files of malformed records of one format, and return the row."""
    tally: Counter[str] = Counter()
    for start in range(0, count, _A_FILE):
        content, good = mixed(kind, rng, min(_A_FILE, count - start))
        path = folder / f"bad.{'jsonl' if kind == 'threads' else kind}"
        path.write_bytes(content)
        with counted(kind, tally):
            found, keys = read(path, kind)
            tally += found
            tally["accepted"] -= len(good & keys)
            tally["lost"] += len(good - keys)
    return row(kind, count, tally)


def row(what: str, count: int, tally: Counter[str]) -> list[object]:
    """Return a row of the table."""
    counts = [tally[name] for name in ("accepted", "refused", "fell over", "hung", "lost")]
    return [what, count, *counts, verdict(not any(counts[2:]))]


def samples() -> dict[str, bytes]:
    """Return a good file of word vectors in each format."""
    words = [f"word{i}" for i in range(20)]
    numbers = [[(7 * i + j) % 11 - 5.0 for j in range(4)] for i in range(20)]
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(words, numbers, strict=True)]
    binary = b"".join(
        word.encode() + b" " + struct.pack("<4f", *row) + b"\n" for word, row in zip(words, numbers, strict=True)
    )
    dictionary = b"".join(word.encode() + b"\0" + struct.pack("<qb", 5, 0) for word in words)
    settings = struct.pack("<2i12id", 793712314, 12, 4, 5, 5, 1, 5, 1, 1, 1, 10, 2, 3, 100, 1e-4)
    matrix = struct.pack("<2q", 30, 4) + struct.pack("<120f", *range(120))
    fasttext = settings + struct.pack("<3i2q", 20, 20, 0, 100, -1) + dictionary + b"\0" + matrix
    text = "\n".join(["20 4", *lines, ""]).encode()
    return {
        "vectors: word2vec text": text,
        "vectors: GloVe": "\n".join([*lines, ""]).encode(),
        "vectors: word2vec binary": b"20 4\n" + binary,
        "vectors: fastText": fasttext,
        "vectors: gzip": gzip.compress(text),
    }


def vector_files(what: str, sample: bytes, count: int, rng: random.Random, folder: Path) -> list[object]:
    """Import malformed files made of a good one, and return the row."""
    tally: Counter[str] = Counter()
    path = folder / "bad.bin"
    for i in range(count):
        path.write_bytes(spoiled(sample, rng) if i else sample)
        with counted(what, tally):
            try:
                import_vectors(str(path), folder / "out")
                tally["accepted"] += 1
            except VectorsError as error:
                tally["refused"] += 1
                tally["lost"] += i == 0  # the good one
                tally["fell over"] += "\n" in str(error)
    return row(what, count, tally)


def main() -> None:
    """Print a row for each format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000, help="malformed records (100000)")
    parser.add_argument("--files", type=int, default=2000, help="malformed files of word vectors (2000)")
    parser.add_argument("--seed", type=int, default=0, help="of the changes (0)")
    given = parser.parse_args()
    rng = random.Random(given.seed)  # noqa: S311 - a sample, no secret
    with TemporaryDirectory() as name:
        kinds = ("jsonl", "threads", "csv", "mbox")
        rows = [records(kind, given.records // len(kinds), rng, Path(name)) for kind in kinds]
        good = samples()
        rows += [vector_files(what, good[what], given.files // len(good), rng, Path(name)) for what in good]
    show_table(HEADS, rows)
    sys.exit(any(found[-1] != "ok" for found in rows))


if __name__ == "__main__":
    main()
