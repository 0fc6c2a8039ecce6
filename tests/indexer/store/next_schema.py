"""A made-up schema newer than that of this version, for tests of migrations."""

import os
from pathlib import Path
from typing import Any

import pytest

from moverank.indexer.store import schema
from moverank.indexer.store.rows import SCHEMA

NEXT = "0.9.0"
_MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = {names!r}


def upgrade():
    op.create_table("extra", sa.Column("id", sa.Integer(), primary_key=True))
    with op.batch_alter_table("documents") as batch:
        batch.add_column(sa.Column("extra", sa.String()))
    {last}


def downgrade():
    op.drop_table("extra")
    with op.batch_alter_table("documents") as batch:
        batch.drop_column("extra")
"""


def add_next_schema(patch: pytest.MonkeyPatch, folder: Path, last: str = "pass") -> None:
    """Make `NEXT` the newest schema until `patch` is undone; its migration, in `folder`, ends with the lines `last`."""
    directory, config_of = folder / "next schema", schema.alembic_config
    directory.mkdir()
    (directory / "next.py").write_text(_MIGRATION.format(names=(NEXT, SCHEMA), last=last))

    def config(connection: Any) -> Any:
        own = config_of(connection)
        versions = Path(own.get_main_option("script_location")) / "versions"
        own.set_main_option("version_locations", f"{versions}{os.pathsep}{directory}")
        return own

    patch.setattr(schema, "alembic_config", config)
    patch.setattr(schema, "SCHEMA", NEXT)
