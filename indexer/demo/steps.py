"""The demo as commands that a user could type: its texts are written to files, and indexed like any others."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from moverank.indexer.demo.docstrings import docstring_documents
from moverank.indexer.demo.examples import (
    DOCSTRING_QUERIES,
    DOCSTRING_TRAINING,
    THREAD_QUERIES,
    THREAD_TRAINING,
    Example,
    threads_path,
)
from moverank.indexer.errors import ReadError, UsageError

_DOCSTRINGS, _THREADS = "docstrings", "threads"
_HITS = "3"


def prepare(directory: Path) -> None:
    """Write the demo's texts into a directory as ordinary input files.

    Raises UsageError if the directory has other contents or cannot be written, ReadError if there are no texts.
    """
    if directory.exists() and any(directory.iterdir()) and not (directory / f"{_DOCSTRINGS}.jsonl").exists():
        raise UsageError(f"{directory} holds something else: name another place with --directory")
    count = 0
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with (directory / f"{_DOCSTRINGS}.jsonl").open("w", encoding="utf-8") as file:
            for count, document in enumerate(docstring_documents(), start=1):  # noqa: B007 - counts the lines written
                record = {"id": document.key, "label": document.label, "text": document.parts[0].text}
                file.write(json.dumps(record | dict(document.metadata)) + "\n")
        shutil.copyfile(threads_path(), directory / f"{_THREADS}.jsonl")
    except OSError as error:
        raise UsageError(f"{directory}: cannot be written: {error.strerror}") from error
    if not count:
        raise ReadError("this Python comes without the sources of its standard library: the demo has nothing to index")


def steps(directory: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the description and the command arguments of each step."""
    yield (
        "First the docstrings of Python's standard library. LSI learns the word vectors from the texts themselves.",
        _index_arguments("index", directory, _DOCSTRINGS, DOCSTRING_TRAINING),
    )
    yield from ((example.explanation, _arguments(example, directory, _DOCSTRINGS)) for example in DOCSTRING_QUERIES)
    yield (
        "Now forum threads: posts weigh less the lower they rank.",
        _index_arguments("threads", directory, _THREADS, THREAD_TRAINING),
    )
    yield from ((example.explanation, _arguments(example, directory, _THREADS)) for example in THREAD_QUERIES)
    yield (
        "Unchanged documents are not indexed again: the same command only compares them.",
        _index_arguments("threads", directory, _THREADS, THREAD_TRAINING),
    )


def indexing(directory: Path) -> Iterator[tuple[list[str], str, Path]]:
    """Yield for each of the demo's collections the arguments that index it, its name and its directory."""
    for command, name, training in (("index", _DOCSTRINGS, DOCSTRING_TRAINING), ("threads", _THREADS, THREAD_TRAINING)):
        yield _index_arguments(command, directory, name, training), name, directory / f"{name}.index"


def _index_arguments(command: str, directory: Path, name: str, training: tuple[str, ...]) -> list[str]:
    options = ["--setting", f"train_options={','.join(training)}"]
    options += ["--setting", "title_weight=1"] if command == "threads" else []  # the examples are about posts
    source, target = str(directory / f"{name}.jsonl"), str(directory / f"{name}.index")
    return [command, source, "-i", target, "--embedding", "lsi", *options]


def _arguments(example: Example, directory: Path, name: str) -> list[str]:
    rank = [] if example.rank is None else ["--rank", example.rank]
    return [example.command, example.text, "-i", str(directory / f"{name}.index"), "-k", _HITS, *rank]
