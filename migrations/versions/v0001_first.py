"""The first schema: settings, documents with parts and fields, words, revisions, removals."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:  # long: one statement for each table
    """Create all tables."""
    op.create_table(
        "settings",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_settings"),
    )
    op.create_table(
        "documents",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=True),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("wordless", sa.Boolean(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_documents"),
        sa.UniqueConstraint("key", name="uq_documents_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_documents_revision", "documents", ["revision"])
    op.create_table(
        "words",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("word", sa.String(), nullable=False),
        sa.Column("frequency", sa.Integer(), nullable=False),
        sa.Column("row", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_words"),
        sa.UniqueConstraint("word", name="uq_words_word"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "revisions",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("token", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_revisions"),
    )
    op.create_table(
        "removals",
        sa.Column("document_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("document_id", name="pk_removals"),
    )
    op.create_index("ix_removals_revision", "removals", ["revision"])
    _create_dependents()


def _create_dependents() -> None:
    """Create the tables whose rows are deleted with their document."""
    op.create_table(
        "parts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("document_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("words", sa.LargeBinary(), nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_parts_document_id_documents", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_parts"),
        sa.UniqueConstraint("document_id", "position", name="uq_parts_document_id_position"),
    )
    op.create_table(
        "fields",
        sa.Column("document_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name="fk_fields_document_id_documents", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("document_id", "name", "value", name="pk_fields"),
    )
    op.create_index("ix_fields_name_value", "fields", ["name", "value"])


def downgrade() -> None:
    """Drop all tables."""
    for name in ("fields", "parts", "removals", "revisions", "words", "documents", "settings"):
        op.drop_table(name)
