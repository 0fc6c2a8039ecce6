"""The schema of version 0.2.0, the first that was published: see `indexer.store.schema`."""

revision = "0.2.0"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Do nothing: a new database gets all tables of the newest schema at once, so no database is older than this."""


def downgrade() -> None:
    """Do nothing: there is no older schema."""
