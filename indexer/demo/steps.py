"""The demo as commands that anyone could type: its files are written first, and then used like one's own."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

from moverank.indexer.demo import (
    DOCSTRING_QUERIES,
    DOCSTRING_TRAINING,
    THREAD_QUERIES,
    THREAD_TRAINING,
    Example,
    docstring_documents,
    threads_path,
)
from moverank.indexer.errors import ReadError, UsageError

_DOCSTRINGS, _THREADS = "docstrings", "threads"
_HITS = "3"


def prepare(directory: Path) -> int:
    """Write the demo's texts into a directory, as files that could be anybody's; return how many docstrings there are.

    Raises UsageError where the directory holds something else or cannot be written.
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
    return count


def steps(directory: Path) -> Iterator[tuple[str, list[str]]]:
    """Give what is shown next, and the arguments of the command that shows it."""
    yield (
        "First the docstrings of Python's standard library. LSI learns the word vectors from the texts themselves.",
        _index("index", directory, _DOCSTRINGS, DOCSTRING_TRAINING),
    )
    yield from (_asked(example, directory, _DOCSTRINGS) for example in DOCSTRING_QUERIES)
    yield (
        "Now forum threads: a post counts the less the lower it ranks.",
        _index("threads", directory, _THREADS, THREAD_TRAINING),
    )
    yield from (_asked(example, directory, _THREADS) for example in THREAD_QUERIES)
    yield (
        "Nothing is read twice: the same command again only compares.",
        _index("threads", directory, _THREADS, THREAD_TRAINING),
    )


def _index(command: str, directory: Path, name: str, training: tuple[str, ...]) -> list[str]:
    options = [argument for option in training for argument in ("--train-option", option)]
    source, target = str(directory / f"{name}.jsonl"), str(directory / f"{name}.index")
    return [command, source, "-i", target, "--embedding", "lsi", *options]


def _asked(example: Example, directory: Path, name: str) -> tuple[str, list[str]]:
    options = [] if example.gamma is None else ["--gamma", f"{example.gamma:g}"]
    target = str(directory / f"{name}.index")
    return example.why, [example.command, example.text, "-i", target, "-k", _HITS, *options]
