"""Lines as a file, JSONL or CSV, which replaces an older one only when it is complete."""

import gzip
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path

from moverank.indexer.errors import IndexerError
from moverank.indexer.files.atomic_write import atomic_file
from moverank.indexer.progress import Progress


def write_lines(path: Path, lines: Iterable[str], total: int, progress: Progress) -> None:
    """Write `total` lines to a file in UTF-8, compressed if its name ends with .gz; IndexerError if that fails.

    `progress` is called after each: a line is a document.
    """
    try:
        with atomic_file(path) as file:
            # Without a name and a time, equal lines make equal files.
            packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if path.suffix == ".gz" else nullcontext(file)
            with packed as target:
                for done, line in enumerate(lines, start=1):
                    target.write(line.encode(errors="replace") + b"\n")
                    progress("Exporting", min(done, total), total, "documents")
    except OSError as error:
        raise IndexerError(f"{path}: cannot be written: {error.strerror}") from error
