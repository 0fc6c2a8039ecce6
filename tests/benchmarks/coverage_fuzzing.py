"""Fuzzes the readers, guided by branch coverage: needs `pip install atheris`.

Each format has a process and a time budget of its own, and starts from a valid file. A reader may return documents and
reasons, or refuse a file by its own error; any other exception, and any input that takes ten seconds, is a failure, and
the file that caused it is printed. `branches` are those of the readers that any input has covered.
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import any_missed, argument_parser, show, show_table, verdict

# Nothing of the package is imported here: atheris does not instrument what was imported before it.

HEADS = ("format", "inputs", "branches", "crashes or hangs", "")
_TIME_LIMIT = 10
_POSTS = b'<?xml version="1.0"?>\n<posts>\n<row Id="1" PostTypeId="1" Title="t" Body="b" Score="1"/>\n</posts>\n'


def valid_files() -> dict[str, bytes]:
    """Return a valid file of each format."""
    from tests.benchmarks.mutation_fuzzing import csv_line, json_line, message, thread_line, vector_samples

    return {
        "jsonl": json_line(1) + b"\n",
        "csv": b"id,title,text,n\n" + csv_line(1) + b"\n",
        "lines": b"ant bee\n",
        "markdown": b"---\ntitle: ant\ndate: 2021-03-05\ntags: [a, b]\n---\n# ant\n\nbee\n",
        "html": b"<html><head><title>ant</title><meta name=author content=x></head><body><p>bee<script>x</script>",
        "notebook": b'{"cells": [{"cell_type": "code", "source": ["ant"]}], "metadata": {"title": "bee"}}',
        "labelled-lines": b"label\tant bee\n",
        "mbox": message(1),
        "message": b"From: a@b\nSubject: s\nMessage-ID: <1>\n\nant\n",
        "threads": thread_line(1) + b"\n",
        "stackexchange": _POSTS,
        "mbox threads": message(1),
        "queries": b'{"id": "a", "text": "x"}\n',
        "qrels": b"q 0 d 1\n",
        **vector_samples(),
    }


def fuzz(name: str, folder: Path, seconds: int) -> None:
    """Fuzz the reader of the format `name` below a folder; atheris ends the process after the time budget."""
    import atheris

    with atheris.instrument_imports(include=["moverank.indexer.reading", "moverank.indexer.vectors"]):
        from moverank.indexer.errors import ReadError, VectorsError
        from moverank.indexer.reading import read_documents, read_threads
        from moverank.indexer.reading.inputs.judgments import read_qrels
        from moverank.indexer.reading.inputs.queries import read_queries
        from moverank.indexer.vectors.importing import import_vectors

        valid = valid_files()[name]
    path = folder / "input"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        try:
            if name.startswith("vectors"):
                import_vectors(str(path), folder / "out")
            elif name == "queries":
                list(read_queries(str(path)))
            elif name == "qrels":
                read_qrels(str(path))
            elif name in ("threads", "stackexchange", "mbox threads"):
                list(read_threads([str(path)], format={"threads": "jsonl", "mbox threads": "mbox"}.get(name, name)))
            else:
                list(read_documents([str(path)], format=name))
        except (ReadError, VectorsError) as error:
            if "\n" in str(error):
                raise AssertionError("an error message of several lines") from error

    corpus = folder / "corpus"
    corpus.mkdir()
    (corpus / "valid").write_bytes(valid)
    limits = [f"-max_total_time={seconds}", f"-timeout={_TIME_LIMIT}", "-max_len=4096", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={folder}/failure-", str(corpus)], read)
    atheris.Fuzz()


def row(name: str, seconds: int) -> list[object]:
    """Fuzz the reader of the format `name` in a process of its own, and return the row."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--only", name, "--folder", folder, "--seconds", str(seconds)]
        process = subprocess.run(command, capture_output=True, check=False)
        output = process.stderr.decode(errors="replace") + process.stdout.decode(errors="replace")
        runs = re.findall(r"number_of_executed_units: (\d+)|Done (\d+) runs", output)
        inputs = [int(units or done) for units, done in runs]
        branches = re.findall(r"cov: (\d+)", output)
        failures = sorted(Path(folder).glob("failure-*"))
        for file in failures:
            show(f"{name}: {file.read_bytes()!r}")
        if process.returncode or not inputs:
            show(output[-2000:])
        count = len(failures) or int(process.returncode != 0 or not inputs)
        return [name, inputs[-1] if inputs else "", branches[-1] if branches else "", count, verdict(not count)]


def main() -> None:
    """Print a row for each format; exit with 1 if one has a failure."""
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="time budget of each format (60)")
    parser.add_argument("--only", help="fuzz only this format")
    parser.add_argument("--folder", type=Path, help="fuzz in this process, with its files in this folder")
    arguments = parser.parse_args()
    if arguments.folder is not None:
        fuzz(arguments.only, arguments.folder, arguments.seconds)
        return
    rows = [row(name, arguments.seconds) for name in ([arguments.only] if arguments.only else valid_files())]
    show_table(HEADS, rows)
    sys.exit(any_missed(rows))


if __name__ == "__main__":
    main()
