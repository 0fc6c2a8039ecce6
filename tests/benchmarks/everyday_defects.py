"""Prints a Markdown table of everyday commands that once failed, with their answers now.

Every line is one run of the installed command, through the shell, in a temporary directory with small synthetic files. A
case is answered if its exit code and its output are the expected ones, without a traceback.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import argument_parser, show

DOCUMENTS = "".join(f'{{"id": "d{i}", "title": "Pets {i}", "text": "cat dog {i}"}}\n' for i in range(2000))
VECTORS = "4 3\ncat 1 0 0\ndog 0.9 0.1 0\ntrain 0 0 1\nbus 0 0.1 0.9\n"
QUERIES = '{"id": "a", "text": "cat"}\n{"text": \n{"id": "b", "text": "zebra"}\n{"id": "c", "text": "dog"}\n'
FILES = {
    "docs.jsonl": DOCUMENTS,
    "vectors.txt": VECTORS,
    "queries.jsonl": QUERIES,
    "qrels": "d1 0 d2 1\nd2 0 d3 1\n",
    "labels.tsv": "zz\ta,b\nyy\tc\n",
}

READ_ONLY = "unshare --mount sh -c 'mount --make-rprivate / && mount --bind / / && mount -o remount,ro,bind / && cd $PWD"
"""A file system to which nothing can be written; needs the right to mount."""


@dataclass(frozen=True)
class Case:
    """What once failed, the shell's command line, the exit code expected now, and a part of the output."""

    description: str
    command: str
    code: int
    expected: str


def environments() -> Iterator[Case]:
    """Yield runs in containers, and with closed streams."""
    unset = "env -u TMPDIR HOME=/nonexistent LC_ALL=C"
    yield Case("package, HOME and /tmp not writable", f"{READ_ONLY}; {unset} moverank search cat -i old -k 1'", 0, "Pets")
    yield Case("read-only collection", f"{READ_ONLY}; {unset} moverank index docs.jsonl -i old <&-'", 1, "read-only")
    yield Case("closed output", "moverank info -i old --json >&-", 1, "standard output: it is closed")
    yield Case("closed input", "moverank search cat -i old -k 1 <&-", 0, "Pets")
    yield Case("more than 64 KB into head", "bash -c 'moverank search cat -i old -k 2000 --json | head -c 9; exit $PIPESTATUS'", 0, '{"hits": ')
    yield Case("compiling in the demo", "NUMBA_CACHE_DIR=numba moverank demo 2>&1 >/dev/null | grep -c compiling", 0, "1")


def queries() -> Iterator[Case]:
    """Yield searches and words without vectors."""
    yield Case("word without a vector", "moverank search 'cat zebra' -i old -k 1 --rank wmd", 0, "Ignored, without a vector: zebra.")
    yield Case("the same as JSON", "moverank search 'cat zebra' -i old -k 1 --json", 0, '"unknown_words": ["zebra"]')
    yield Case("one bad line in --queries", "moverank search --queries queries.jsonl -i old -k 1 --json", 1, '"query": "c", "hits"')
    yield Case("a budget shorter than loading", "moverank search cat -i old -k 1 --budget 0.5", 0, "Certified")
    yield Case("None among texts", f'{sys.executable} -c "{_RERANK}"', 1, "text 1 must be a string, not None")


_RERANK = "import numpy; from moverank import *; Reranker(Embedding.of(['dog'], numpy.ones((1, 2)))).rank('dog', ['dog', None])"


def experiments() -> Iterator[Case]:
    """Yield experiments that fail at once."""
    retrieval = "moverank evaluate retrieval -i old --qrels qrels"
    yield Case("--csv into a missing directory", f"{retrieval} --csv no/rows.csv", 2, "there is no directory no")
    yield Case("--plot into a missing directory", f"{retrieval} --plot no/figure.svg", 2, "there is no directory no")
    yield Case("unknown measure", f"{retrieval} --measure foo", 2, "there is no measure 'foo'")
    yield Case("kNN without labels", "moverank evaluate knn -i old", 2, "no document has a label")
    yield Case("labels of no document", "moverank evaluate multilabel -i old --labels labels.tsv", 2, "none of its keys")
    bounds = "timeout 8 moverank evaluate bounds -i large --sample 400"
    yield Case("SIGTERM in a long run", f"moverank index {{large}} -i large --embedding lsi && {bounds}", 1, "interrupted: cached")
    yield Case("interrupted before any commit", "(sleep 3) | timeout 2 moverank index - -i old", 1, "nothing was changed")


def usage() -> Iterator[Case]:
    """Yield forms of help, and completion."""
    yield Case("-h", "moverank search -h", 0, "Usage: moverank search")
    yield Case("help of a command", "moverank help evaluate knn", 0, "Usage: moverank evaluate knn")
    completion = "COMP_WORDS='moverank search x --rank wmd+b' COMP_CWORD=4 _MOVERANK_COMPLETE=complete_bash"
    yield Case("completion of a ranking", f"{completion} moverank", 0, "wmd+bm25")
