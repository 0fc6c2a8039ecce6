"""Long values: PostgreSQL finds short values by B-trees, and long words and paths by hash indexes.

Long values of filter fields are shortened, with a digest. The functions needed are copied here, as of this schema.
"""

import json
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_LONGEST, _KEPT = 2000, 2003  # bytes
_UNIQUE = (("sources", "place"), ("words", "word"))

_FIELDS = sa.table("fields", sa.column("document_id", sa.Integer), sa.column("name"), sa.column("value"))
_DOCUMENTS = sa.table("documents", sa.column("id", sa.Integer), sa.column("label"), sa.column("metadata", sa.JSON))


def upgrade() -> None:
    """Shorten long values, and replace indexes of PostgreSQL."""
    for row in _long_fields():
        _replace_value(row, _shortened(row.value))
    if op.get_bind().dialect.name == "postgresql":
        for table, column in _UNIQUE:
            op.drop_constraint(f"uq_{table}_{column}", table)
            op.execute(f"ALTER TABLE {table} ADD CONSTRAINT uq_{table}_{column} EXCLUDE USING hash ({column} WITH =)")
        op.drop_index("ix_documents_source_file", "documents")
        op.create_index("ix_documents_source", "documents", ["source"])


def downgrade() -> None:
    """Write long values as they are, and make the indexes again: PostgreSQL refuses if there are longer values."""
    if op.get_bind().dialect.name == "postgresql":
        op.drop_index("ix_documents_source", "documents")
        op.create_index("ix_documents_source_file", "documents", ["source", "file"])
        for table, column in _UNIQUE:
            op.drop_constraint(f"uq_{table}_{column}", table)
            op.create_unique_constraint(f"uq_{table}_{column}", table, [column])
    for row in _long_fields():
        document = op.get_bind().execute(sa.select(_DOCUMENTS).where(_DOCUMENTS.c.id == row.document_id)).one()
        for name, value in [("label", document.label), *_flattened("", document.metadata)]:
            if name == row.name and value is not None and _shortened(value) == row.value:
                _replace_value(row, value)
                break


def _long_fields() -> list[Any]:
    """Return the fields with more than `_LONGEST` bytes; a character has at most four bytes."""
    long = sa.select(_FIELDS).where(sa.func.length(_FIELDS.c.value) > _LONGEST // 4)
    return [row for row in op.get_bind().execute(long).all() if len(row.value.encode()) > _LONGEST]


def _replace_value(row: Any, value: str) -> None:
    own = (getattr(_FIELDS.c, name) == getattr(row, name) for name in ("document_id", "name", "value"))
    op.get_bind().execute(sa.update(_FIELDS).where(*own).values(value=value))


def _shortened(value: str) -> str:
    encoded = value.encode()
    if len(encoded) <= _LONGEST:
        return value
    return f"{encoded[:_KEPT].decode(errors='ignore')}\u2026{blake2b(encoded, digest_size=16).hexdigest()}"


def _flattened(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield names and values of the fields of metadata."""
    if isinstance(value, dict):
        for inner, item in value.items():
            yield from _flattened(f"{name}.{inner}" if name else inner, item)
    elif isinstance(value, list):
        for item in value:
            yield from _flattened(name, item)
    elif value is not None:
        yield name, value if isinstance(value, str) else json.dumps(value)
