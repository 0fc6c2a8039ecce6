"""Faults of a whole source as results, so that the other sources can still be read."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from moverank.indexer.errors import ReadError
from moverank.indexer.files.gzip_limit import DAMAGED, GzipBomb
from moverank.indexer.reading.finding.files import Source
from moverank.indexer.reading.records import BadRecord
from moverank.indexer.reading.streams import Meter, Stream, open_source

_Result = TypeVar("_Result")


def results_of(
    source: Source, meter: Meter, read: Callable[[Stream], Iterable[tuple[int, _Result]]]
) -> Iterator[tuple[int, _Result | BadRecord]]:
    """Open `source` and yield the results of `read`, each with its line; at a fault, yield a `BadRecord` and end.

    The `BadRecord` has no key, since any document of the source may be affected.
    """
    if source.fault:
        yield 0, BadRecord(source.fault)
        return
    stream: Stream | None = None
    try:
        with open_source(source, meter) as stream:
            yield from read(stream)
    except (BadRecord, *DAMAGED) as error:
        yield stream.line if stream else 0, ended_by(error)
    except ReadError:
        raise
    except OSError as error:
        line = stream.line if stream else 0
        reason = "from here on it cannot be read" if line else "cannot be read"
        yield line, BadRecord(f"{reason}: {error.strerror or error}", part=True, ends=True)


def ended_by(error: Exception) -> BadRecord:
    """Return the fault of a source whose rest is not read: a `BadRecord`, or one of `DAMAGED`."""
    if isinstance(error, BadRecord):
        error.part = True
        return error
    if isinstance(error, GzipBomb):
        reason = f"from here on it is not read: {error}"
    else:
        reason = f"from here on the gzip data are damaged or cut short ({error}): gzip -t reports more"
    return BadRecord(reason, part=True, ends=True)
