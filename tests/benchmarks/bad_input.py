"""Prints a Markdown table of the messages and exit codes for bad input.

Every line is one run of the installed command in a temporary directory, with small synthetic files.
"""

import gzip
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import argument_parser, show

GOOD = b'{"id": "good", "title": "Pets", "text": "cat dog", "label": "home"}\n'
VECTORS = b"4 3\ncat 1 0 0\ndog 0.9 0.1 0\ntrain 0 0 1\nbus 0 0.1 0.9\n"
INDEX = "-i new --embedding vectors.txt"


@dataclass(frozen=True)
class Case:
    """One kind of bad input: its description, the command line, and the file `name` with `content` that it needs."""

    description: str
    arguments: str
    name: str = ""
    content: bytes = b""


def records() -> Iterator[Case]:
    """Yield bad records, each beside a good one."""
    for fault, bad in (
        ("truncated JSON", b'{"id": "x", "text": \n'),
        ("no text field", b'{"id": "x"}\n'),
        ("text is a number", b'{"id": "x", "text": 5}\n'),
        ("text is blank", b'{"id": "x", "text": " "}\n'),
        ("a list, not an object", b"[1, 2]\n"),
        ("repeated key", GOOD),
        ("key is null", b'{"id": null, "text": "cat"}\n'),
        ("invalid UTF-8", b'{"id": "x", "text": "caf\xe9"}\n'),
        ("unpaired surrogate", b'{"id": "x", "text": "\\ud800"}\n'),
        ("NaN", b'{"id": "x", "text": "cat", "year": NaN}\n'),
    ):
        yield Case(f"JSONL: {fault}", f"index bad.jsonl {INDEX}", "bad.jsonl", GOOD + bad)
    yield Case("JSONL: bad record, --strict", f"index bad.jsonl {INDEX} --strict", "bad.jsonl", GOOD + b"{\n")
    yield Case("CSV: missing field", f"index bad.csv {INDEX}", "bad.csv", b"id,text\n1,cat\n2\n")
    yield Case("CSV: unclosed quotation mark", f"index bad.csv {INDEX}", "bad.csv", b'id,text\n1,cat\n2,"dog\n')
    yield Case("CSV: no column for the text", f"index bad.csv {INDEX}", "bad.csv", b"id,remark\n1,cat\n2,dog\n")
    yield Case("CSV: repeated column", f"index bad.csv {INDEX}", "bad.csv", b"id,id\n1,cat\n")
    yield Case("truncated gzip", f"index bad.jsonl.gz {INDEX}", "bad.jsonl.gz", gzip.compress(GOOD)[:-4])
    yield Case("not gzipped, but named .gz", f"index bad.jsonl.gz {INDEX}", "bad.jsonl.gz", GOOD)
    yield Case("image", f"index bad.png {INDEX}", "bad.png", b"\x89PNG\0\0")
    yield Case("UTF-16 text, cut off", f"index bad.txt {INDEX}", "bad.txt", "cat".encode("utf-16")[:-1])
    yield Case("PDF file", f"index bad.pdf {INDEX}", "bad.pdf", b"%PDF-1.4")
    yield Case("--pre fails", f"index bad.pdf {INDEX} --pre false", "bad.pdf", b"%PDF-1.4")
    yield Case("--pre takes too long", f"index bad.pdf {INDEX} --pre yes --pre-timeout 0.2", "bad.pdf", b"%PDF-1.4")
    yield Case("front matter is no YAML", f"index bad.md {INDEX}", "bad.md", b"---\ntitle: a: b\n---\ncat\n")
    yield Case("not a notebook", f"index bad.ipynb {INDEX}", "bad.ipynb", b"{}")
    yield Case("JSON array cut off", f"index bad.json {INDEX}", "bad.json", b"[" + GOOD + b",{")
    yield Case("100 broken lines", f"index bad.jsonl {INDEX}", "bad.jsonl", GOOD + b"{\n" * 100)
    yield Case("Latin-1 text", f"index bad.txt {INDEX}", "bad.txt", b"a caf\xe9")
    yield Case("empty file", f"index bad.txt {INDEX}", "bad.txt", b"")
    for fault, comments in (
        ("comments are not a list", b'"x"'),
        ("rank below 0", b'[{"text": "x", "rank": -1}]'),
        ("comment without text", b'[{"txt": "x"}]'),
    ):
        line = b'{"id": "t", "title": "cat", "comments": ' + comments + b"}\n"
        yield Case(f"thread: {fault}", f"threads bad.jsonl {INDEX}", "bad.jsonl", line)


def sources() -> Iterator[Case]:
    """Yield invalid paths and options."""
    yield Case("no such file", f"index nowhere.jsonl {INDEX}")
    yield Case("pattern that matches nothing", f"index nowhere*.txt {INDEX}")
    yield Case("unknown format", f"index good.jsonl {INDEX} --format nope")
    yield Case("unknown encoding", f"index good.jsonl {INDEX} --encoding nope")
    yield Case("--exclude is no pattern", f"index folder {INDEX} --exclude !", "folder/a.txt", b"cat")
    yield Case("everything is excluded", f"index folder {INDEX} --exclude *", "folder/a.txt", b"cat")
    yield Case("--pre is not installed", f"index good.jsonl {INDEX} --pre nope")
    yield Case("--pre-glob without --pre", f"index good.jsonl {INDEX} --pre-glob *.pdf")
    yield Case("unknown FAISS factory", f"index good.jsonl {INDEX} --setting faiss=Nope")
    yield Case("gamma below 0", f"index good.jsonl {INDEX} --gamma -1")
    yield Case("no such file of stop words", f"index good.jsonl {INDEX} --setting stop_words=nowhere.txt")
    yield Case("collection path is a file", "index good.jsonl -i vectors.txt")
    yield Case("directory holds other files", "index good.jsonl -i .")
    yield Case("settings differ from those of the collection", "index good.jsonl -i old --embedding lsi")
    yield Case("no path", "index")


def vectors() -> Iterator[Case]:
    """Yield files which are not valid word vectors."""
    for fault, content in (
        ("empty", b""),
        ("prose", b"hello dear world\n"),
        ("number is not finite", b"2 2\ncat 1 2\ndog nan 1\n"),
        ("missing number", b"2 2\ncat 1 2\ndog 1\n"),
        ("repeated word", b"2 2\ncat 1 2\ncat 3 4\n"),
        ("header promises more words", b"3 2\ncat 1 2\ndog 3 4\n"),
        ("pickle", b"\x80\x04."),
        ("zip archive", b"PK\x03\x04"),
    ):
        yield Case(f"vectors: {fault}", "index good.jsonl -i new --embedding bad.vec", "bad.vec", content)
    yield Case("vectors: no such file", "index good.jsonl -i new --embedding nowhere.bin")


def queries() -> Iterator[Case]:
    """Yield searches and other requests which cannot succeed."""
    yield Case("no collection", "search cat -i nowhere")
    yield Case("query without a known word", "search zebra -i old")
    yield Case("query of stop words", "search the -i old")
    yield Case("query and --queries", "search cat --queries good.jsonl -i old")
    yield Case("bad line in --queries file", "search --queries bad.jsonl -i old", "bad.jsonl", b'{"text": "cat"}\n{\n')
    yield Case("--queries file is empty", "search --queries bad.txt -i old", "bad.txt")
    yield Case("--budget is 0", "search cat -i old --budget 0")
    yield Case("--depth below k", "search cat -i old --depth 5")
    yield Case("k is 0", "search cat -i old -k 0")
    yield Case("unknown distance", "search cat -i old --distance nope")
    yield Case("wmd with a gamma", "search cat -i old --distance wmd --gamma 1")
    yield Case("--where without a field", "search cat -i old --where =red")
    yield Case("--where compares a text", "search cat -i old --where label<red")
    yield Case("key to show is unknown", "show nowhere -i old")
    yield Case("--where that all documents pass", "remove -i old --where label")
    yield Case("directory of the export does not exist", "export -i old -o nowhere/x.jsonl")
    yield Case("--where with an unknown field", "search cat -i old --where nope=1")
    yield Case("unknown key", "similar nowhere -i old")
    yield Case("key to remove is unknown", "remove good nowhere -i old")
    yield Case("HTML page in a directory that does not exist", "explain cat good -i old --html nowhere/why.html")
    yield Case("unknown option", "search cat --nope")
    yield Case("unknown command", "nope")
    yield Case("damaged database", "info -i damaged", "damaged/collection.db", b"no database" * 99)


def result(command: Path, case: Case) -> tuple[int, str]:
    """Run a case in a directory of its own, and return the exit code and the message."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "good.jsonl").write_bytes(GOOD)
        (folder / "vectors.txt").write_bytes(VECTORS)
        if case.name:
            (folder / case.name).parent.mkdir(exist_ok=True)
            (folder / case.name).write_bytes(case.content)
        if "-i old" in case.arguments:
            run(command, folder, "index good.jsonl -i old --embedding vectors.txt")
        process = run(command, folder, case.arguments)
        if b"Traceback" in process.stderr:
            return process.returncode, "TRACEBACK"
        output = (process.stderr + process.stdout).decode().replace(f"{folder.resolve()}/", "")
        return process.returncode, " / ".join(line for line in output.splitlines() if line.strip())


def run(command: Path, folder: Path, arguments: str) -> "subprocess.CompletedProcess[bytes]":
    """Run the command with these arguments in a folder."""
    environment = {name: value for name, value in os.environ.items() if name != "MOVERANK_INDEX"}
    return subprocess.run([command, *arguments.split()], cwd=folder, env=environment, capture_output=True, check=False)


def main() -> None:
    """Print the table; exit with a message if a result is a traceback or lacks an error message."""
    argument_parser(__doc__).parse_args()
    command = Path(sys.executable).with_name("moverank")
    if not command.exists():
        sys.exit("there is no moverank command beside this Python: install the project first")
    show("| bad input | exit code | message |")
    show("|---|---|---|")
    unclear = 0
    for case in (*records(), *sources(), *vectors(), *queries()):
        code, message = result(command, case)
        unclear += message == "TRACEBACK" or "moverank: " not in message
        escaped = message.replace("|", "\\|")
        show(f"| {case.description} | {code} | {escaped} |")
    sys.exit(f"{unclear} cases have no error message" if unclear else 0)


if __name__ == "__main__":
    main()
