"""Alembic's environment script: migrates the database of the configured connection."""

from alembic import context

from moverank.indexer.store.schema import METADATA

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    render_as_batch=True,
    transaction_per_migration=False,
)
# No begin_transaction() here: all migrations run in the caller's transaction.
context.run_migrations()
