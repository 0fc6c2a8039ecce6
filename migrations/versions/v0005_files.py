"""Files in the database: machines that share it get the word vectors from there."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of files."""
    op.create_table(
        "files",
        sa.Column("folder", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("folder", "name", "number", name="pk_files"),
    )


def downgrade() -> None:
    """Drop the table; a collection in a file does not use it."""
    op.drop_table("files")
