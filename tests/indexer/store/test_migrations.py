"""The migrations themselves: they lead from the schema of the first release to the declared tables."""

import sqlite3
from contextlib import closing
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from moverank.indexer.maintenance.upgrade import upgrade
from moverank.indexer.store import Store, sqlite_url
from moverank.indexer.store.rows import SCHEMA
from moverank.indexer.store.schema import METADATA, alembic_config
from tests.golden.make import DIRECTORY
from tests.golden.unpacking import unpack


def _described(database: Path) -> dict[str, str]:
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: "\n".join(sorted(line.strip(" ,\t") for line in sql.split("\n"))) for name, sql in rows}


def test_a_collection_of_the_first_release_gets_the_declared_tables(path: Path, tmp_path: Path) -> None:
    unpack(DIRECTORY / "collection-0.2.0.tar.xz", tmp_path)
    upgrade(tmp_path / "golden")
    database = tmp_path / "golden" / "collection.db"
    engine = create_engine(sqlite_url(database))
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        assert compare_metadata(context, METADATA) == []
    engine.dispose()
    Store(sqlite_url(path)).close()
    assert _described(database) == _described(path)


def test_there_is_one_newest_schema(path: Path) -> None:
    engine = create_engine(sqlite_url(path))
    with engine.begin() as connection:
        config = alembic_config(connection)
        assert ScriptDirectory.from_config(config).get_heads() == [SCHEMA]
        command.upgrade(config, "head")  # the steps can be run
    engine.dispose()
