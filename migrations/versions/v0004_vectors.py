"""Vectors that are given with documents.

A database of schema 0003 cannot hold them: going back drops them, and writes the digests of these documents without
them. Except for the names of tables, the functions needed are copied here, as of this schema.
"""

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_TITLE = -1

_SETTINGS = sa.table("settings", sa.column("name", sa.String), sa.column("value", sa.JSON))
_VECTORS = sa.table("vectors", sa.column("document_id", sa.Integer))
_DOCUMENTS = sa.table(
    "documents",
    *(sa.column(name, kind) for name, kind in (("id", sa.Integer), ("title", sa.String), ("label", sa.String))),
    *(sa.column(name, kind) for name, kind in (("metadata", sa.JSON), ("digest", sa.LargeBinary))),
)
_PARTS = sa.table(
    "parts",
    *(sa.column(name, sa.Integer) for name in ("document_id", "position", "rank")),
    sa.column("digest", sa.LargeBinary),
)


def upgrade() -> None:
    """Create the table of vectors."""
    op.create_table(
        "vectors",
        sa.Column("document_id", sa.Integer(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_vectors_document_id_documents", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document_id", name="pk_vectors"),
    )


def downgrade() -> None:
    """Drop the table; centroids replace given vectors in the first stage."""
    connection = op.get_bind()
    settings = dict(map(tuple, connection.execute(sa.select(_SETTINGS.c.name, _SETTINGS.c.value))))
    if str(settings.get("first_stage", "")).partition("+")[0] == "given":
        for name, value in (("first_stage", "centroid"), ("first_stage_options", [])):
            connection.execute(sa.update(_SETTINGS).where(_SETTINGS.c.name == name).values(value=value))
    choices = "\0".join(settings.get("stop_words", ()))
    if settings.get("tokenizer_version", 1) != 1:  # as `Settings.tokens_digest`
        choices += "\0\0{tokenizer_version} {language} {segmentation}".format_map(settings)
        choices += f" {words}" if (words := settings.get("vocabulary")) else ""
    salt = blake2b(choices.encode(), digest_size=16).digest()
    with_vector = list(connection.scalars(sa.select(_VECTORS.c.document_id)))
    for id_ in with_vector:
        document = connection.execute(sa.select(_DOCUMENTS).where(_DOCUMENTS.c.id == id_)).one()
        parts = sa.select(_PARTS).where(_PARTS.c.document_id == id_).order_by(_PARTS.c.position)
        if document.digest:  # an empty one marks a damaged document
            digest = _digest(salt, document, connection.execute(parts).all())
            connection.execute(sa.update(_DOCUMENTS).where(_DOCUMENTS.c.id == id_).values(digest=digest))
    op.drop_table("vectors")


def _digest(salt: bytes, document: Any, parts: Sequence[Any]) -> bytes:
    """Return the digest of a document without its vector."""
    own = [part for part in parts if part.rank != _TITLE]
    content: list[object] = [document.title, document.label, document.metadata, [part.rank for part in own]]
    content += [] if len(own) < len(parts) or not document.title.strip() else [False]
    digests = b"".join(part.digest for part in own)
    return blake2b(salt + json.dumps(content, sort_keys=True).encode() + digests, digest_size=16).digest()
