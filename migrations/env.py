"""Run by Alembic: migrates the database of the connection that it is given."""

from alembic import context

from moverank.indexer.store.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
    transaction_per_migration=False,
)
# No begin_transaction() of its own: the caller's transaction holds all migrations, or none.
context.run_migrations()
