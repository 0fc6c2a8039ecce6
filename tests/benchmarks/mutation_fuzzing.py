"""Feeds randomly mutated records and files of word vectors to the readers: counts crashes, hangs and lost good records.

Records of every format are mutated, with intact ones between them: each intact one must be read, each other one read or
rejected with a reason. Files of word vectors are mutated the same way: each is imported, or refused by VectorsError.
"""

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

from moverank.indexer.errors import VectorsError
from moverank.indexer.reading import read_documents, read_threads
from moverank.indexer.values.documents import Document
from moverank.indexer.vectors.importing import import_vectors
from tests.benchmarks.common import any_missed, argument_parser, show_table, verdict

HEADS = ("format", "mutated", "accepted", "refused", "crashes", "hangs", "intact ones lost", "")
TIME_LIMIT = 60
_RECORDS_PER_FILE = 500
_INSERTED = (
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


class TimeLimitError(Exception):
    """A reader took longer than the time limit."""


@contextmanager
def time_limit(seconds: int = TIME_LIMIT) -> Iterator[None]:
    """Raise TimeLimitError after some seconds."""

    def expire(*_: object) -> None:
        raise TimeLimitError

    signal.signal(signal.SIGALRM, expire)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


@contextmanager
def counted_failures(name: str, tally: Counter[str]) -> Iterator[None]:
    """Count hangs and crashes; `name` is the format, for the log."""
    try:
        with time_limit():
            yield
    except TimeLimitError:
        tally["hangs"] += 1
    except Exception:  # noqa: BLE001 - counted, whatever it is
        tally["crashes"] += 1
        sys.stderr.write(f"{name}: {traceback.format_exc(limit=-4)}\n")


def mutated(record: bytes, rng: random.Random) -> bytes:
    """Return a record with bytes removed, repeated, inserted or replaced."""
    data = bytearray(record)
    for _ in range(rng.choice([1, 1, 2, 5])):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice([1, 1, 3, 20]))
        mutation = rng.randrange(4)
        if mutation == 0:
            del data[start:end]
        elif mutation == 1:
            data[start:start] = data[start:end] * rng.choice([1, 2, 50])
        elif mutation == 2:
            data[start:start] = rng.choice(_INSERTED)
        else:
            data[start:end] = rng.randbytes(end - start)
    return bytes(data)


def one_line(record: bytes) -> bytes:
    """Return a record as exactly one line."""
    return record.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n"


def json_line(i: int) -> bytes:
    """Return a record of JSON lines, with a list and a number."""
    return json.dumps({"id": f"k{i}", "title": "T", "text": "ant bee", "n": 1.5, "tags": ["a", None]}).encode()


def thread_line(i: int) -> bytes:
    """Return a thread of JSON lines."""
    comments = [{"text": "bee", "rank": 1, "score": 2.5, "accepted": True}, {"text": "cat"}]
    return json.dumps({"id": f"k{i}", "title": "ant", "body": "b", "comments": comments}).encode()


def csv_line(i: int) -> bytes:
    """Return a row of CSV."""
    return f"k{i},title,ant bee,3".encode()


def message(i: int) -> bytes:
    """Return a message of an mbox."""
    lines = f"From a@b Thu Jan 1\nMessage-ID: <k{i}>\nSubject: =?utf-8?q?ant?=\nReferences: <x@{i}>\n"
    return f"{lines}Content-Type: text/plain; charset=utf-8\n\nbee cat\n".encode()


RECORDS = {"jsonl": json_line, "threads": thread_line, "csv": csv_line, "mbox": message}


def mixed_file(kind: str, rng: random.Random, count: int) -> tuple[bytes, set[str]]:
    """Return a file with `count` mutated records of a format, and the keys of the intact ones between them."""
    record = RECORDS[kind]
    pieces, intact = [b"id,title,text,n\n"] if kind == "csv" else [], set()
    for i in range(count):
        bad = mutated(record(10**6 + i), rng)
        if kind == "csv":  # an unclosed quotation mark makes the rest of the file one field: reported, and no fault
            bad = bad.replace(b'"', b"'")
        pieces.append(one_line(bad) if kind != "mbox" else b"From x Thu Jan 1\nX: y\n\n" + bad + b"\n\n")
        if i % 10 == 0:
            pieces.append(record(i) + (b"\n" if kind != "mbox" else b"\n\n"))
            intact.add(f"k{i}")
    return b"".join(pieces), intact


def read(path: Path, kind: str) -> tuple[Counter[str], set[str]]:
    """Read a file; return the numbers of accepted and refused records, and the keys of the accepted ones."""
    results = read_threads([str(path)]) if kind == "threads" else read_documents([str(path)])
    tally, keys = Counter[str](), set()
    for result in results:
        if isinstance(result, Document):
            tally["accepted"] += 1
            keys.add(result.key.strip("<>"))
        else:
            tally["refused"] += 1
            tally["crashes"] += "\n" in str(result.reason)
    return tally, keys


def fuzz_records(kind: str, count: int, rng: random.Random, folder: Path) -> list[object]:
    """Read files of mutated records of a format, `count` in all, and return the row; files are written to `folder`."""
    tally: Counter[str] = Counter()
    for start in range(0, count, _RECORDS_PER_FILE):
        content, intact = mixed_file(kind, rng, min(_RECORDS_PER_FILE, count - start))
        path = folder / f"bad.{'jsonl' if kind == 'threads' else kind}"
        path.write_bytes(content)
        with counted_failures(kind, tally):
            counts, keys = read(path, kind)
            tally += counts
            tally["accepted"] -= len(intact & keys)
            tally["lost"] += len(intact - keys)
    return row(kind, count, tally)


def row(name: str, count: int, tally: Counter[str]) -> list[object]:
    """Return the row of a format from the number of mutated inputs and their outcomes."""
    counts = [tally[outcome] for outcome in ("accepted", "refused", "crashes", "hangs", "lost")]
    return [name, count, *counts, verdict(not any(counts[2:]))]


def vector_samples() -> dict[str, bytes]:
    """Return an intact file of word vectors in each format."""
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


def fuzz_vectors(name: str, sample: bytes, count: int, rng: random.Random, folder: Path) -> list[object]:
    """Import `count` files, the intact `sample` and mutations of it, and return the row; files are below `folder`."""
    tally: Counter[str] = Counter()
    path = folder / "bad.bin"
    for i in range(count):
        path.write_bytes(mutated(sample, rng) if i else sample)
        with counted_failures(name, tally):
            try:
                import_vectors(str(path), folder / "out")
                tally["accepted"] += 1
            except VectorsError as error:
                tally["refused"] += 1
                tally["lost"] += i == 0  # the intact one
                tally["crashes"] += "\n" in str(error)
    return row(name, count, tally)


def main() -> None:
    """Print a row for each format; exit with 1 if one has a fault."""
    parser = argument_parser(__doc__)
    parser.add_argument("--records", type=int, default=100_000, help="mutated records (100000)")
    parser.add_argument("--files", type=int, default=2000, help="mutated files of word vectors (2000)")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations (0)")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)  # noqa: S311 - a sample, no secret
    with TemporaryDirectory() as name:
        folder = Path(name)
        rows = [fuzz_records(kind, arguments.records // len(RECORDS), rng, folder) for kind in RECORDS]
        samples = vector_samples()
        files = arguments.files // len(samples)
        rows += [fuzz_vectors(name, sample, files, rng, folder) for name, sample in samples.items()]
    show_table(HEADS, rows)
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
