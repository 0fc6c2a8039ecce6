"""Sources: the file, folder or stream from which each document was read; unknown for older documents."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of sources, and the columns which refer to it."""
    op.create_table(
        "sources",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("prefix", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sources"),
        sa.UniqueConstraint("place", name="uq_sources_place"),
    )
    op.add_column("documents", sa.Column("source", sa.Integer(), nullable=True))
    op.add_column("documents", sa.Column("file", sa.String(), nullable=True))
    op.create_index("ix_documents_source_file", "documents", ["source", "file"])


def downgrade() -> None:
    """Drop the table and the columns."""
    op.drop_index("ix_documents_source_file", "documents")
    op.drop_column("documents", "file")
    op.drop_column("documents", "source")
    op.drop_table("sources")
