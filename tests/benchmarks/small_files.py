"""Measures reading many small files of threads, now and in a git revision, in turns.

The files are made of real texts: posts of 20 Newsgroups as an mbox of one message each, threads of three forums as an
mbox each, and questions of Stack Exchange as a site each, `Posts.xml` in a folder of its own. A run is a process which
reads all files of one kind by `read_threads`; imports are not measured. `before / now` is the median of the ratios of
the pairs of runs, since the speed of a machine drifts, and that of making files most of all. The floor is the time of
opening and reading the files, and of parsing their messages or rows by the standard library alone.
"""

import email
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import any_missed, gzip_records, real, show, show_table, verdict
from tests.benchmarks.revisions import comparing_parser, in_turns, median_ratio, run_version, show_compared, versions

FORUMS = ("stackexchange_quantumcomputing", "stackexchange_bicycles_meta", "semeval_cqa")
HEADS = ("files", "number", "before, files/s", "now, files/s", "floor, files/s", "before / now", "target", "")
RATIO = 20
"""Target: the time before, divided by the time now."""


def write_files(directory: Path, count: int, sites: int) -> dict[str, Path]:
    """Write the files of each kind, and return their folders."""
    folders = {name: directory / name for name in ("mbox, one message", "mbox, one thread", "Stack Exchange")}
    one, threads, exchange = folders.values()
    posts = (
        {"id": each["id"], "title": each.get("title"), "body": each["text"]} for each in _records("20news", "docs")
    )
    for number, post in enumerate(islice(posts, count)):
        _write(one / f"{number}.mbox", _mbox(post))
    for number, thread in enumerate(islice(_threads(FORUMS), count)):
        _write(threads / f"{number}.mbox", _mbox(thread))
    for number, thread in enumerate(islice(_threads(FORUMS[:2]), sites), start=1):
        _write(exchange / str(number) / "Posts.xml", _posts(number, thread))
    return folders


def _records(folder: str, name: str) -> Iterator[dict[str, Any]]:
    return gzip_records(real("data", folder, f"{name}.jsonl.gz"))


def _threads(forums: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for forum in forums:
        for thread in _records(forum, "threads"):
            yield {**thread, "id": f"{forum}.{thread['id']}"}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _mbox(thread: dict[str, Any]) -> str:
    """Return the posts of a thread as messages, each a reply to the first."""
    key, title = f"{thread['id']}@forum", " ".join((thread.get("title") or "").split())
    posts = [thread.get("body") or title, *(comment["text"] for comment in thread.get("comments", ()))]
    return "".join(_message(key, title, number, text) for number, text in enumerate(posts))


def _message(key: str, title: str, number: int, text: str) -> str:
    reply = f"References: <{key}>\nSubject: Re: {title}\n" if number else f"Subject: {title}\n"
    head = (
        f"Message-ID: <{f'{number}.{key}' if number else key}>\nFrom: Author {len(text)} <a{len(text)}@forum>\n{reply}"
    )
    escaped = text.replace("\nFrom ", "\n>From ")
    content = "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n"
    return f"From x@y\n{head}{content}\n{escaped}\n\n"


def _posts(number: int, thread: dict[str, Any]) -> str:
    """Return the `Posts.xml` of a site with a single question; its key is `number`."""
    body = quoteattr(f"<p>{thread.get('body') or ''}</p>")
    rows = [f'<row Id="{number}" PostTypeId="1" Score="3" Title={quoteattr(thread["title"])} Body={body} />']
    for answer, comment in enumerate(thread["comments"], start=1):
        text = quoteattr(f"<p>{comment['text']}</p>")
        rows.append(f'<row Id="{number * 1000 + answer}" PostTypeId="2" ParentId="{number}" Score="0" Body={text} />')
    return '<?xml version="1.0" encoding="utf-8"?>\n<posts>\n' + "\n".join(rows) + "\n</posts>\n"


def read(folder: str) -> dict[str, Any]:
    """Read the threads of a folder; return the seconds, the number of documents and a digest of them."""
    from moverank.indexer.reading import read_threads

    began = time.perf_counter()
    found = list(read_threads([folder]))
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "documents": len(found), "digest": hashlib.sha256(repr(found).encode()).hexdigest()}


def floor(folder: Path) -> float:
    """Return the seconds of reading all files below a folder, and of parsing them by the standard library."""
    began = time.perf_counter()
    for path in folder.rglob("*.*"):
        data = path.read_bytes()
        if path.suffix == ".xml":
            ElementTree.fromstring(data)  # noqa: S314 - our own file
        else:
            for message in data.split(b"\nFrom x@y\n"):
                email.message_from_bytes(message)
    return time.perf_counter() - began


def measure(name: str, folder: Path, roots: dict[str, Path], pairs: int) -> list[object]:
    """Read a folder `pairs` times with each version, and return the row; exit if they read other documents."""
    count, script = sum(1 for _ in folder.rglob("*.*")), [__file__, "--read", str(folder)]
    found = in_turns(roots.values(), range(pairs), lambda root, _: run_version(root, script).objects[0])
    digests = {(one["documents"], one["digest"]) for each in found for one in each}
    if len(digests) != 1:
        sys.exit(f"{name}: the versions read other documents: {digests}")
    before, now = ([one["seconds"] for one in each] for each in found)
    ratio = median_ratio(before, now)
    lowest = statistics.median(floor(folder) for _ in range(3))
    rates = [f"{count / seconds:,.0f}" for seconds in (statistics.median(before), statistics.median(now), lowest)]
    return [name, f"{count:,}", *rates, f"{ratio:.1f}", f">= {RATIO}", verdict(ratio >= RATIO)]


def main() -> None:
    """Print a row for each kind of file; exit with 1 if a target is missed."""
    parser = comparing_parser(__doc__)
    parser.add_argument("--files", type=int, default=2000, help="mbox files of each kind (2000)")
    parser.add_argument("--sites", type=int, default=1000, help="sites of Stack Exchange (1000)")
    parser.add_argument("--read", help="read this folder once, and print the measurement")
    arguments = parser.parse_args()
    if arguments.read:
        show(json.dumps(read(arguments.read)))
        return
    with TemporaryDirectory() as directory, versions(arguments.before) as roots:
        folders = write_files(Path(directory), arguments.files, arguments.sites)
        rows = [measure(name, folder, roots, arguments.pairs) for name, folder in folders.items()]
    show_compared(arguments)
    show_table(HEADS, rows)
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
