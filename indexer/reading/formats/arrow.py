"""Tables in columns: Parquet, and Arrow's files and streams (Feather too); a row is a record, as a line of JSONL is.

A value becomes what JSON would have had in its place. Structs and maps are objects, without their nulls; lists are
lists. Dates and times are texts in ISO 8601 and UTC, decimals are numbers, durations are seconds. NaN, by which some
programs write a missing number, is null. Bytes are text if they are UTF-8; others, such as pictures, are left out. A
dictionary is what it stands for, a column of Arrow's type JSON what its texts say. Anything else is its text.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial
from itertools import count
from math import isnan
from typing import IO, Any, Protocol

from moverank.indexer.reading.formats.dates import iso_date
from moverank.indexer.reading.formats.json_lines import parse_value
from moverank.indexer.reading.records import BadRecord, Builds, Made, Record
from moverank.indexer.reading.streams import Stream

_log = logging.getLogger("moverank")

INSTALL = "python -m pip install 'moverank[parquet]'"

AS_JSON = {b"ARROW:extension:name": b"arrow.json", b"ARROW:extension:metadata": b""}
"""The metadata of a field whose texts are JSON; of it, pyarrow makes a type from version 19 on."""

_ROWS, _BYTES = 1024, 4 << 20
"""The most rows, and about the most bytes, that become records at once."""
_BUFFER = 1 << 18
"""Bytes of a column that are read at once: a row group may be as large as the file."""
PARQUET, ENCRYPTED, ARROW, _OLD = b"PAR1", b"PARE", b"ARROW1", b"FEA1"
"""The first bytes of files: Parquet, encrypted Parquet, Arrow, old Feather; a stream of Arrow begins otherwise."""


def read_arrow(stream: Stream, build: Builds[Made]) -> Iterator[tuple[int, Made | BadRecord]]:
    """Read one record per row; its line is the number of the row, from 1.

    The key of a row without one is `<file>:<number>`. About a thousand rows are in memory, of Arrow's files one record
    batch. Raises `BadRecord` for a file that is damaged, encrypted, empty or of another format, for one all of whose
    rows lack a field, and without the package pyarrow.
    """
    with _opened(stream) as (table, columns):
        _check_fields(table.schema, build)
        for batch in _batches(table):
            for record in columns.records(batch):
                stream.line += 1
                try:
                    if isinstance(record, BadRecord):
                        raise record
                    yield stream.line, build(record, f"{stream.source.key}:{stream.line}")
                except BadRecord as bad:
                    yield stream.line, bad


class _Table(Protocol):
    """An open table: its schema, and the `part` of the file that is read now, for messages."""

    schema: Any
    part: str

    def batches(self) -> Iterator[Any]:
        """Yield all rows, in batches."""


@contextmanager
def _opened(stream: Stream) -> Iterator[tuple[_Table, "_Columns"]]:
    """Open the table of a stream, which its columns make records of; `BadRecord` says why it cannot be read."""
    head = stream.head()
    if not head:
        raise BadRecord("the file is empty, and not even a table without rows: copy it again")
    if head.startswith(ENCRYPTED):
        raise BadRecord("it is encrypted: write it without encryption")
    if head.startswith(_OLD):
        raise BadRecord("it is a Feather file of version 1: write it in version 2, or as Parquet")
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise BadRecord(f"Parquet and Arrow files need the package pyarrow: {INSTALL}") from error
    with stream.seekable() as file:
        try:
            table: _Table = (_Parquet if head.startswith(PARQUET) else _Arrow)(file, head)
            columns = _Columns(stream.source.name, table.schema)  # decodes all names
        except _faults() as error:
            raise _unreadable(error, "the file") from error
        names = columns.names
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise BadRecord(f"two columns have the name {repeated[0]!r}: rename one of them")
        yield table, columns


class _Parquet:
    """A Parquet file, whose row groups are read a few rows at a time."""

    def __init__(self, file: IO[bytes], _: bytes) -> None:
        from pyarrow.parquet import ParquetFile

        self._file = ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False)
        self.schema, self.part = self._file.schema_arrow, "the file"

    def batches(self) -> Iterator[Any]:
        first = 1
        for number in range(self._file.num_row_groups):
            group = self._file.metadata.row_group(number)
            self.part = f"row group {number + 1} (rows {first:,} to {first + group.num_rows - 1:,})"
            rows = max(1, min(_ROWS, _BYTES * group.num_rows // max(1, group.total_byte_size)))
            yield from self._file.iter_batches(batch_size=rows, row_groups=[number], use_threads=False)
            first += group.num_rows


class _Arrow:
    """A file of Arrow, or a stream."""

    def __init__(self, file: IO[bytes], head: bytes) -> None:
        from pyarrow import ipc

        self._is_file = head.startswith(ARROW)
        self._read = (ipc.open_file if self._is_file else ipc.open_stream)(file)
        self.schema, self.part = self._read.schema, "the file"

    def batches(self) -> Iterator[Any]:
        for number in range(self._read.num_record_batches) if self._is_file else count():
            self.part = f"record batch {number + 1}"
            try:
                batch = self._read.get_batch(number) if self._is_file else self._read.read_next_batch()
            except StopIteration:  # the end of a stream
                return
            batch.validate(full=True)  # damaged offsets would end the process
            yield from (batch.slice(first, _ROWS) for first in range(0, batch.num_rows, _ROWS))


def _batches(table: _Table) -> Iterator[Any]:
    """Yield the rows of a table in batches; `BadRecord` names the part that is damaged."""
    found = table.batches()
    while True:
        try:
            batch = next(found)
        except StopIteration:
            return
        except _faults() as error:
            raise _unreadable(error, table.part) from error
        yield batch


def _faults() -> tuple[type[Exception], ...]:
    from pyarrow import ArrowException

    return ArrowException, OSError, UnicodeDecodeError, MemoryError  # of a damaged length


def _unreadable(error: Exception, part: str) -> Exception:
    """Return the fault of a file, or of a part of it, from what pyarrow says; an error of the system itself."""
    if isinstance(error, OSError) and error.errno:
        return error
    said = " ".join(str(error).split())[:200].rstrip(".")
    if "crypt" in said:
        return BadRecord(f"{part} is encrypted: write it without encryption", ends=True)
    return BadRecord(f"{part} is damaged or cut short ({said}): copy or write it again", ends=True)


_Convert = Callable[[Any], Any]
"""Makes a value of JSON of a Python value, which is not None."""


class _Columns:
    """Makes records of the rows of a table, whose columns each have one type; `name` is that of the file."""

    def __init__(self, name: str, schema: Any) -> None:
        self._name = name
        self._convert = [_field_conversion(field, partial(self._note, field.name)) for field in schema]
        self.names: list[str] = schema.names
        self._noted = set[str]()

    def records(self, batch: Any) -> Iterator[Record | BadRecord]:
        """Yield the record of each row; a `BadRecord` for one with a value that Python does not have."""
        columns = [self._values(i, batch.column(i)) for i in range(len(self.names))]
        rows = zip(*columns, strict=True) if columns else iter([()] * batch.num_rows)
        for row in rows:
            bad = next((value for value in row if isinstance(value, BadRecord)), None)
            yield bad or dict(zip(self.names, row, strict=True))

    def _values(self, i: int, column: Any) -> list[Any]:
        """Return the values of column `i` in a batch."""
        import pyarrow as pa

        if pa.types.is_timestamp(column.type):  # Python has no nanoseconds, and not every zone
            column = column.cast(pa.timestamp("us", column.type.tz and "UTC"), safe=False)
        convert = self._convert[i]
        try:
            values = column.to_pylist()
            return values if convert is None else [None if value is None else convert(value) for value in values]
        except (ValueError, ArithmeticError, LookupError, BadRecord):  # of one value or more
            return [self._value(i, scalar) for scalar in column]

    def _value(self, i: int, scalar: Any) -> Any:
        convert = self._convert[i]
        try:
            value = scalar.as_py()
            return value if convert is None or value is None else convert(value)
        except (ValueError, ArithmeticError, LookupError, BadRecord) as error:
            return BadRecord(f"the column {self.names[i]!r} has a value that cannot be read ({error}): correct it")

    def _note(self, column: str) -> None:
        if column not in self._noted:
            self._noted.add(column)
            _log.warning("%s: the column %r has bytes which are no text, and are left out", self._name, column)


def _field_conversion(field: Any, note: Callable[[], None]) -> _Convert | None:
    """Return what makes JSON of the values of a field; see `_conversion`."""
    return parse_value if _is_json(field) else _conversion(field.type, note)


def _conversion(kind: Any, note: Callable[[], None]) -> _Convert | None:
    """Return what makes JSON of the values of a type, as pyarrow returns them; None: they are JSON.

    `note` is called for bytes that are no text.
    """
    from pyarrow import types

    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _conversion(kind.value_type, note)
    if types.is_struct(kind):
        return _object({field.name: _field_conversion(field, note) for field in kind})
    if types.is_map(kind):
        item = _conversion(kind.item_type, note) or _same
        return lambda pairs: {str(name): item(value) for name, value in pairs if value is not None}
    if hasattr(kind, "value_type"):  # lists of all kinds
        inner = _conversion(kind.value_type, note)
        return inner and (lambda values: [None if value is None else inner(value) for value in values])
    if types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind) or types.is_boolean(kind):
        return None
    return lambda value: _scalar(value, note)


def _is_json(field: Any) -> bool:
    named = (field.metadata or {}).get(b"ARROW:extension:name")
    return named == b"arrow.json" or getattr(field.type, "extension_name", "") == "arrow.json"


def _same(value: Any) -> Any:
    return value


def _object(fields: dict[str, _Convert | None]) -> _Convert:
    convert = [(name, inner or _same) for name, inner in fields.items()]
    return lambda row: {name: inner(row[name]) for name, inner in convert if row[name] is not None}


def _scalar(value: Any, note: Callable[[], None]) -> Any:
    """Return a value that is neither a list nor an object as JSON."""
    match value:
        case float():
            return None if isnan(value) else value
        case date():  # a time with its date, too
            return iso_date(value)
        case time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                note()
                return None
    return str(value)


def _check_fields(schema: Any, build: Builds[Any]) -> None:
    """Raise `BadRecord` for a table that lacks a field: otherwise every single row would be rejected."""
    if any(map(_is_json, schema)):  # it may hold any field
        return
    try:
        build(_sample(schema), "")
    except BadRecord as bad:
        raise BadRecord(bad.reason) from bad


def _sample(schema: Any) -> dict[str, Any]:
    """Return a record with all fields that the rows of a table have, empty or null."""
    return {field.name: _sample_value(field.type) for field in schema}


def _sample_value(kind: Any) -> Any:
    from pyarrow import types

    if types.is_struct(kind):
        return _sample(kind)
    if types.is_boolean(kind):
        return False
    if types.is_integer(kind) or types.is_decimal(kind):
        return 0
    if types.is_floating(kind) or types.is_null(kind):
        return None
    if hasattr(kind, "value_type") and not types.is_dictionary(kind):
        return [_sample(kind.value_type)] if types.is_struct(kind.value_type) else None  # posts of a thread, or parts
    return ""
