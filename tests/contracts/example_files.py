"""The files that the examples of README and the manual name, and a runner for their command lines."""

import csv
import gzip
import json
import shlex
import shutil
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from moverank.indexer.demo.examples import threads_path
from moverank.rerank.words.tokenizer import Tokenizer
from tests.indexer.commands.program import Answer, Call

GOOD = b'{"id": "good", "text": "cat dog"}\n'

BAD_FILES: dict[str, bytes] = {
    "latest.json": b'{"topic_list": {"topics": [{"id": 7, "title": "The plug gets hot", "posts_count": 3}]}}',
    "cut.jsonl": GOOD + b'{"id": "x", "text":\n',
    "no-text.jsonl": GOOD + b'{"id": "x"}\n',
    "number.jsonl": GOOD + b'{"id": "x", "text": 5}\n',
    "blank.jsonl": GOOD + b'{"id": "x", "text": " "}\n',
    "long-key.jsonl": GOOD + b'{"id": "%s", "text": "cat"}\n' % (b"k" * 3000),
    "twice.jsonl": GOOD + GOOD,
    "other.jsonl": b'{"id": "good", "text": "a train"}\n{"id": "fine", "text": "cat dog"}\n',
    "latin1.jsonl": GOOD + b'{"id": "x", "text": "caf\xe9"}\n',
    "broken.jsonl": GOOD + b"{\n",
    "quote.csv": b'id,text\n1,cat\n2,"dog\n',
    "bomb.jsonl.gz": gzip.compress(GOOD + bytes(1 << 18)),
    "cut.jsonl.gz": gzip.compress(GOOD)[:-4],
    "rank.jsonl": b'{"id": "good", "title": "cat dog", "comments": []}\n'
    b'{"id": "x", "title": "cat", "comments": [{"text": "dog", "rank": -1}]}\n',
    "cut.json": b"[" + GOOD + b',{"id": "x",',
    "north.jsonl": GOOD + b'{"id": "x", "text": "cat", "vector": "north"}\n',
    "colon.md": b"---\ntitle: cat: dog\n---\n",
    "pictures/cat.png": b"\x89PNG\0\0",
    "pictures/cat.txt": b"a cat on a mat",
    "hole.vec": b"2 2\ncat 1 2\ndog 1\n",
    "twice.vec": b"2 2\ncat 1 2\ncat 3 4\n",
    "short.vec": b"3 2\ncat 1 2\ndog 3 4\n",
    "model.kv": b"\x80\x04.",
    "damaged/collection.db": b"no database at all" * 99,
}
"""Malformed files by name: those of the tables on the page `safety` and in `messages.md`."""

SITE: dict[str, bytes] = {
    "site/.gitignore": b"*.log\n",
    "site/note.md": b"---\ntitle: Warm plug\ndate: 2021-03-05\ntags: [power]\n---\n# Warm plug\n\nThe plug gets hot.\n",
    "site/page.html": b"<!DOCTYPE html><title>Late train</title><script>x</script><p>The train was late again.",
    "site/notebook.ipynb": b'{"cells": [{"cell_type": "code", "source": ["train.wait()"]}], "metadata": {}}',
    "site/plug.py": b"def hot(plug):\n    return plug.heat\n",
    "site/drafts/later.md": b"later",
    "site/build.log": b"built",
    "site/paper.pdf": b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>> endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>> endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>/MediaBox[0 0 612 792]>> endobj\n"
    b"4 0 obj<</Length 40>>stream\nBT /F1 24 Tf 72 720 Td (Hot plugs) Tj ET\nendstream endobj\n"
    b"5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj\ntrailer<</Root 1 0 R/Size 6>>\n",
    "latin.csv": "ID,Text\n1,ein Stecker f\u00fcr den Ofen\n".encode("latin-1"),
}
"""A directory as it may be found, and a table which is not UTF-8."""

PDFTOTEXT = b"#!/bin/sh\necho Hot plugs\n"
"""Prints what pdftotext does for the only PDF file of the examples, where that is not installed."""

KINDS = ("heating", "wiring", "bicycle", "car")
EACH = 9


def write_files(directory: Path) -> None:
    """Write every file that an example names: threads of the demo in all formats, vectors, judgments, bad files."""
    if shutil.which("pdftotext") is None:
        (directory / "bin").mkdir()
        (directory / "bin" / "pdftotext").write_bytes(PDFTOTEXT)
        (directory / "bin" / "pdftotext").chmod(0o755)
    threads = _threads()
    _write_documents(directory, threads)
    _write_posts(directory / "Posts.xml", threads)
    _write_vectors(directory / "glove.6B.300d.txt.gz", threads)
    keys = [str(thread["id"]) for thread in threads]
    (directory / "duplicates.tsv").write_text(
        "".join(f"{key}\t0\t{keys[i + 1]}\t1\n" for i, key in enumerate(keys[:4]))
    )
    (directory / "pairs.tsv").write_text("".join(f"{key}\t{keys[i + 1]}\n" for i, key in enumerate(keys[:4])))
    (directory / "qrels.tsv").write_text("".join(f"q{i}\t0\t{keys[i]}\t1\n" for i in range(4)))
    (directory / "thread.jsonl").write_text(json.dumps(threads[0]) + "\n")
    _write_given_vectors(directory, keys)
    queries = [{"id": f"q{i}", "text": threads[i]["title"]} for i in range(4)]
    (directory / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries))
    (directory / "run.trec").write_text(
        "".join(
            f"q{i} Q0 {key} {rank} {9 - rank} bm25\n" for i in range(4) for rank, key in enumerate(keys[:8], start=1)
        )
    )
    (directory / "labels.tsv").write_text("".join(f"{thread['id']}\t{thread['label']},home\n" for thread in threads))
    for name, content in {**SITE, **BAD_FILES}.items():
        (directory / name).parent.mkdir(exist_ok=True, parents=True)
        (directory / name).write_bytes(content)


def _write_given_vectors(directory: Path, keys: list[str]) -> None:
    """Write random vectors of the documents, their keys, and the vectors of one query and of four."""
    matrix = np.random.default_rng(1).normal(size=(len(keys) + 5, 8)).astype(np.float32)
    np.save(directory / "vectors.npy", matrix[: len(keys)])
    (directory / "keys.txt").write_text("".join(f"{key}\n" for key in keys))
    np.save(directory / "query.npy", matrix[-1])
    np.save(directory / "queries.npy", matrix[-5:-1])


def _threads() -> list[dict[str, Any]]:
    """Return some threads of the demo, as many of each kind."""
    with threads_path().open(encoding="utf-8") as file:
        threads = [json.loads(line) for line in file]
    return [thread for kind in KINDS for thread in [each for each in threads if each["label"] == kind][:EACH]]


def _write_documents(directory: Path, threads: list[dict[str, Any]]) -> None:
    (directory / "threads.jsonl").write_text("".join(json.dumps(thread) + "\n" for thread in threads))
    (directory / "notes").mkdir()
    with (
        gzip.open(directory / "docs.jsonl.gz", "wt", encoding="utf-8") as records,
        (directory / "table.csv").open("w", encoding="utf-8", newline="") as table,
    ):
        writer = csv.writer(table)
        writer.writerow(["id", "remark", "kind"])
        for thread in threads:
            key, title, body = thread["id"], thread["title"], thread["body"]
            (directory / "notes" / f"{key}.txt").write_text(f"{title}\n\n{body}\n")
            records.write(json.dumps({"id": key, "title": title, "text": body, "label": thread["label"]}) + "\n")
            writer.writerow([key, body, thread["label"]])


def _write_posts(path: Path, threads: list[dict[str, Any]]) -> None:
    """Write threads as a Stack Exchange dump whose questions begin with the id 1742."""
    lines, answer = [], 5000
    for question, thread in enumerate(threads, start=1742):
        lines.append(_post(question, 1, thread["body"], Title=thread["title"], Tags=f"<{thread['label']}>"))
        for comment in thread["comments"]:
            answer += 1
            lines.append(_post(answer, 2, comment["text"], ParentId=str(question), Score=str(comment.get("score", 0))))
    path.write_text("\n".join(['<?xml version="1.0" encoding="utf-8"?>', "<posts>", *lines, "</posts>", ""]))


def _post(id_: int, kind: int, body: str, **attributes: str) -> str:
    named = {"Id": str(id_), "PostTypeId": str(kind), "Body": f"<p>{body}</p>", **attributes}
    return f"  <row {' '.join(f'{name}={quoteattr(value)}' for name, value in named.items())} />"


def _write_vectors(path: Path, threads: list[dict[str, Any]]) -> None:
    """Write random vectors of the words of the threads in the GloVe format, gzipped."""
    texts = [thread["title"] + " " + thread["body"] for thread in threads]
    words = dict.fromkeys(word for text in texts for word in Tokenizer().words(text))
    numbers = np.random.default_rng(0).normal(size=(len(words), 12)).round(3).tolist()
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for word, row in zip(words, numbers, strict=True):
            file.write(f"{word} {' '.join(map(str, row))}\n")


class Runner:
    """Runs command lines in this process, in the directory `place` that holds the files."""

    def __init__(self, place: Path, call: Call) -> None:
        self.place = place
        self._call = call

    def run(self, line: str) -> Answer:
        """Run a line `moverank ...`; what follows a `#` is a comment."""
        name, *arguments = shlex.split(line, comments=True)
        assert name == "moverank"
        return self._call(*arguments)
