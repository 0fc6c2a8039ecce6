"""Files that commands write their results to: lines of JSONL or CSV, perhaps compressed, or a table in columns."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import typer

from moverank.indexer import formatters
from moverank.indexer.errors import IndexerError, UsageError

Format = Literal["jsonl", "csv", "arrow"]

ResultFile = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write all to a file in the format of its name: .csv, .jsonl, .parquet or .arrow. [default: print]",
    ),
]


def format_of(path: Path | None) -> Format | None:
    """Return the format that the name of a file says, None for another name; `arrow` stands for Parquet, too.

    UsageError if the package pyarrow is missing.
    """
    if path is None:
        return None
    suffixes = path.suffixes[-2:]
    if formatters.is_arrow_name(path):
        return "arrow"
    return "csv" if ".csv" in suffixes else "jsonl" if ".jsonl" in suffixes else None


def check_result_file(path: Path | None, *, printed: bool) -> None:
    """Raise UsageError, before any work, for a file that results cannot be written to; `printed`: they are printed."""
    from moverank.indexer.files.atomic_write import check_writable

    if path is None:
        return
    if printed:
        raise UsageError("--output goes without --json and --format: the name of the file says the format")
    if format_of(path) is None:
        raise UsageError(f"{path}: the name says no format: write .csv, .jsonl, .parquet or .arrow")
    check_writable(path)


def write_results(path: Path, objects: Iterable[dict[str, Any]], cells: Iterator[Sequence[Any]]) -> None:
    """Write results to a file: `objects` as JSONL, or `cells`, rows below a header, as a table."""
    if format_of(path) == "arrow":
        write_table(path, *formatters.result_table(cells))
    elif format_of(path) == "csv":
        write_lines(path, map(formatters.csv_line, cells))
    else:
        write_lines(path, map(formatters.json_line, objects))


def write_lines(path: Path, lines: Iterable[str], progress: Callable[[int], None] = lambda _: None) -> None:
    """Write lines to a file in UTF-8, compressed if its name ends with .gz; IndexerError if that fails.

    It replaces an older one only when it is complete. `progress` is called with the number of lines written.
    """
    import gzip

    with _opened(path) as file:
        # Without a name and a time in the header, equal lines make equal files.
        packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if path.suffix == ".gz" else nullcontext(file)
        with packed as target:
            for done, line in enumerate(lines, start=1):
                target.write(line.encode(errors="replace") + b"\n")
                progress(done)


def write_table(
    path: Path, schema: Any, rows: "Iterable[formatters.Row]", progress: Callable[[int], None] = lambda _: None
) -> None:
    """Write rows to a file in Parquet or Arrow, as `write_lines` does."""

    def counted() -> "Iterator[formatters.Row]":
        for done, row in enumerate(rows, start=1):
            yield row
            progress(done)

    with _opened(path) as file:
        formatters.write_rows(file, path.name, schema, counted())


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    from moverank.indexer.files.atomic_write import named_file

    try:
        with named_file(path) as file:
            yield file
    except OSError as error:
        raise IndexerError(f"{path}: cannot be written: {error.strerror or error}") from error
