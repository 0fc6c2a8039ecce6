"""Records as a JSONL file, which replaces an older one only when it is complete."""

import gzip
import json
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from moverank.indexer.errors import IndexerError
from moverank.indexer.files.atomic_write import atomic_file
from moverank.indexer.formatters.escaping import printable_json
from moverank.indexer.progress import Progress


def write_lines(path: Path, records: Iterable[dict[str, Any]], total: int, progress: Progress) -> None:
    """Write `total` records to a file in UTF-8, compressed if its name ends with .gz; IndexerError if that fails.

    `progress` is called after each.
    """
    try:
        with atomic_file(path) as file:
            # Without a name and a time, equal records make equal files.
            packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if path.suffix == ".gz" else nullcontext(file)
            with packed as target:
                for done, record in enumerate(records, start=1):
                    line = printable_json(json.dumps(record, ensure_ascii=False))
                    target.write(line.encode() + b"\n")
                    progress("Exporting", done, total, "documents")
    except OSError as error:
        raise IndexerError(f"{path}: cannot be written: {error.strerror}") from error
