"""Tables in columns, Parquet and Arrow: documents as `export` writes them, without loss, and rows of results."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

from moverank.indexer.errors import UsageError
from moverank.indexer.reading.formats.arrow import AS_JSON, INSTALL
from moverank.indexer.values.documents import Document, Metadata

_PARQUET, _ARROW = ".parquet", (".arrow", ".feather")
_GROUP, _BATCH = 32 << 20, 256
"""Bytes of a row group of Parquet, or of a record batch of Arrow; rows that are converted at once."""
_NUMBERS = {"distance": "float64", "cluster": "int64"}
"""The columns of results that are no texts."""
_JSON = "json"

Row = Mapping[str, Any]


def is_arrow_name(path: Path) -> bool:
    """Return whether a file of this name is written in Parquet or Arrow; UsageError if it then cannot be.

    That is without the package pyarrow, and for a compressed one: they compress by themselves.
    """
    suffix = path.suffix.lower()
    if suffix == ".gz" and Path(path.stem).suffix.lower() in (_PARQUET, *_ARROW):
        raise UsageError(f"{path}: such a file is compressed by itself: leave .gz out")
    if suffix not in (_PARQUET, *_ARROW):
        return False
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise UsageError(f"{path}: Parquet and Arrow files need the package pyarrow: {INSTALL}") from error
    return True


def document_schema(metadata: Iterable[Metadata]) -> Any:
    """Return the schema of documents with these `metadata`.

    A field of metadata has a type of its own if all its values are of one: a text, a Boolean, a number of 64 bits, or a
    list of such. Otherwise it has Arrow's type JSON.
    """
    import pyarrow as pa

    kinds = dict[str, str]()
    for one in metadata:
        for name, value in one.items():
            kind = _kind(value)
            if kinds.setdefault(name, kind) != kind:
                kinds[name] = _JSON
    own = [("metadata", pa.struct([_field(name, kind) for name, kind in kinds.items()]))] if kinds else []
    part = pa.struct([("text", pa.string()), ("rank", pa.int32())])
    named = [("key", pa.string()), ("title", pa.string()), ("label", pa.string()), *own]
    return pa.schema(
        [*named, ("title_counts", pa.bool_()), ("vector", pa.list_(pa.float32())), ("parts", pa.list_(part))]
    )


def document_rows(documents: Iterable[Document], schema: Any) -> Iterator[Row]:
    """Yield the row of each document in a table of a `document_schema`."""
    own = schema.field("metadata").type if "metadata" in schema.names else ()
    as_json = [field.name for field in own if field.metadata]
    for document in documents:
        row = {"title_counts": True} | document.to_dict()
        written = {name: json.dumps(row["metadata"][name]) for name in as_json if name in row["metadata"]}
        yield row | {"metadata": row["metadata"] | written} if written else row


def result_table(cells: Iterator[Sequence[Any]]) -> tuple[Any, Iterator[Row]]:
    """Return the schema and the rows of a table whose first row is a header."""
    import pyarrow as pa

    header = [str(name) for name in next(cells)]
    schema = pa.schema([(name, _type(_NUMBERS.get(name, "string"))) for name in header])
    return schema, (dict(zip(header, row, strict=True)) for row in cells)


def write_rows(file: IO[bytes], name: str, schema: Any, rows: Iterable[Row]) -> None:
    """Write rows to an open file in the format of its `name`, one row group or record batch after the other."""
    import pyarrow as pa
    from pyarrow import parquet

    is_parquet = name.lower().endswith(_PARQUET)
    with (
        parquet.ParquetWriter(file, schema, compression="zstd") if is_parquet else pa.ipc.new_file(file, schema) as out
    ):
        for group in _groups(schema, rows):
            out.write_table(group)


def _groups(schema: Any, rows: Iterable[Row]) -> Iterator[Any]:
    """Yield the tables of some rows each, of about `_GROUP` bytes."""
    import pyarrow as pa

    found, waiting, size = iter(rows), list[Any](), 0
    while some := list(islice(found, _BATCH)):
        waiting.append(pa.RecordBatch.from_pylist(some, schema=schema))
        size += waiting[-1].nbytes
        if size >= _GROUP:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _kind(value: object) -> str:
    """Return the name of the type of a column that holds a value of metadata."""
    if isinstance(value, list | tuple):
        kinds = set(map(_kind, value))
        inner = kinds.pop() if len(kinds) == 1 else _JSON
        return _JSON if inner == _JSON or inner.endswith("[]") else f"{inner}[]"
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return _JSON
    return _KINDS.get(type(value), _JSON)


_KINDS = {str: "string", bool: "bool_", int: "int64", float: "float64"}


def _field(name: str, kind: str) -> Any:
    """Return a field of a table; one of JSON is a text, which readers of this metadata take for Arrow's type JSON."""
    import pyarrow as pa

    return pa.field(name, pa.string(), metadata=AS_JSON) if kind == _JSON else pa.field(name, _type(kind))


def _type(kind: str) -> Any:
    import pyarrow as pa

    return pa.list_(_type(kind[:-2])) if kind.endswith("[]") else getattr(pa, kind)()
