"""Watches: stored queries, and the events that say which new and changed documents are near them."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_LONG = sa.Integer().with_variant(sa.BigInteger(), "postgresql")


def upgrade() -> None:
    """Create the tables of watches, of events, and of what the receivers of a webhook have got."""
    op.create_table(
        "watches",
        sa.Column("name", _TEXT, nullable=False),
        sa.Column("query", sa.JSON(), nullable=False),
        sa.Column("ranking", _TEXT, nullable=False),
        sa.Column("within", sa.Double(), nullable=False),
        sa.Column("conditions", sa.JSON(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_watches"),
    )
    op.create_table(
        "events",
        sa.Column("number", _LONG, autoincrement=False, nullable=False),
        sa.Column("watch", _TEXT, nullable=False),
        sa.Column("document", _TEXT, nullable=False),
        sa.Column("distance", sa.Double(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_events"),
    )
    op.create_table(
        "deliveries",
        sa.Column("receiver", _TEXT, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("receiver", name="pk_deliveries"),
    )


def downgrade() -> None:
    """Drop the tables: an earlier version matches nothing."""
    op.drop_table("deliveries")
    op.drop_table("events")
    op.drop_table("watches")
