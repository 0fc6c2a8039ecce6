"""Looks for input that makes a reader fall over, led by the branches that it takes: needs `pip install atheris`.

Each format has a process and a time of its own, and begins with a good file. A reader may return documents and reasons,
or refuse a file by its own error; whatever else is raised, and whatever takes ten seconds, is told with the file that
did it. Branches are those of the readers that some input took.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

# Nothing of the project here: what is imported before atheris is ready, it does not follow.

HEADS = ("what", "inputs", "branches", "fell over or hung", "")
_PATIENCE = 10
_POSTS = b'<?xml version="1.0"?>\n<posts>\n<row Id="1" PostTypeId="1" Title="t" Body="b" Score="1"/>\n</posts>\n'


def targets() -> dict[str, bytes]:
    """Return a good file of each format."""
    from tests.benchmarks.hostile import csv_line, json_line, mail, samples, thread_line

    return {
        "jsonl": json_line(1) + b"\n",
        "csv": b"id,title,text,n\n" + csv_line(1) + b"\n",
        "lines": b"ant bee\n",
        "labelled-lines": b"label\tant bee\n",
        "mbox": mail(1),
        "message": b"From: a@b\nSubject: s\nMessage-ID: <1>\n\nant\n",
        "threads": thread_line(1) + b"\n",
        "stackexchange": _POSTS,
        "mbox threads": mail(1),
        "queries": b'{"id": "a", "text": "x"}\n',
        "qrels": b"q 0 d 1\n",
        **samples(),
    }


def fuzz(what: str, folder: Path, seconds: int) -> None:
    """Feed one reader until the time is over; atheris ends the process."""
    import atheris

    with atheris.instrument_imports(include=["moverank.indexer.readers", "moverank.indexer.vectors"]):
        from moverank.indexer.errors import ReadError, VectorsError
        from moverank.indexer.readers import read_documents, read_threads
        from moverank.indexer.readers.judgments import read_qrels
        from moverank.indexer.readers.queries import read_queries
        from moverank.indexer.vectors import import_vectors

        good = targets()[what]
    path = folder / "input"

    def feed(data: bytes) -> None:
        path.write_bytes(data)
        try:
            if what.startswith("vectors"):
                import_vectors(str(path), folder / "out")
            elif what == "queries":
                list(read_queries(str(path)))
            elif what == "qrels":
                read_qrels(str(path))
            elif what in ("threads", "stackexchange", "mbox threads"):
                list(read_threads([str(path)], format={"threads": "jsonl", "mbox threads": "mbox"}.get(what, what)))
            else:
                list(read_documents([str(path)], format=what))
        except (ReadError, VectorsError) as error:
            if "\n" in str(error):
                raise AssertionError("a refusal of several lines") from error

    corpus = folder / "corpus"
    corpus.mkdir()
    (corpus / "good").write_bytes(good)
    limits = [f"-max_total_time={seconds}", f"-timeout={_PATIENCE}", "-max_len=4096", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={folder}/found-", str(corpus)], feed)
    atheris.Fuzz()


def row(what: str, seconds: int) -> list[object]:
    """Fuzz one reader in a process of its own, and return the row."""
    from tests.benchmarks.common import show, verdict

    with TemporaryDirectory() as name:
        command = [sys.executable, __file__, "--only", what, "--folder", name, "--seconds", str(seconds)]
        run = subprocess.run(command, capture_output=True, check=False)
        told = run.stderr.decode(errors="replace") + run.stdout.decode(errors="replace")
        inputs = re.findall(r"number_of_executed_units: (\d+)|Done (\d+) runs", told)
        branches = re.findall(r"cov: (\d+)", told)
        found = sorted(Path(name).glob("found-*"))
        for file in found:
            show(f"{what}: {file.read_bytes()!r}")
        if run.returncode or not inputs:
            show(told[-2000:])
        bad = len(found) or int(run.returncode != 0 or not inputs)
        return [what, max(inputs[-1]) if inputs else "", branches[-1] if branches else "", bad, verdict(not bad)]


def main() -> None:
    """Print a row for each format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="for each format (60)")
    parser.add_argument("--only", help="this format")
    parser.add_argument("--folder", type=Path, help="work there, in this process")
    given = parser.parse_args()
    if given.folder is not None:
        fuzz(given.only, given.folder, given.seconds)
        return
    from tests.benchmarks.common import show_table

    rows = [row(what, given.seconds) for what in ([given.only] if given.only else targets())]
    show_table(HEADS, rows)
    sys.exit(any(found[-1] != "ok" for found in rows))


if __name__ == "__main__":
    main()
