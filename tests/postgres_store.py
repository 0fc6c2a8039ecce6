"""Runs tests on PostgreSQL (`pytest --store postgresql`): every new collection is in a schema of its own of one server.

Its directory is where it would be otherwise, and has the derived files. Tests of SQLite's files have the mark `sqlite`.
"""

import os
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from moverank.indexer.files.location import URL_FILE, database_url
from moverank.indexer.indexing import creation

OPTION = "--store"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that chooses where the collections of tests are."""
    parser.addoption(OPTION, choices=("sqlite", "postgresql"), default="sqlite", help="database of the collections")


def on_postgres(config: pytest.Config) -> bool:
    """Return whether the tests run on PostgreSQL."""
    return bool(config.getoption(OPTION) == "postgresql")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests of SQLite's files on PostgreSQL."""
    if on_postgres(config):
        for item in items:
            if item.get_closest_marker("sqlite"):
                item.add_marker(pytest.mark.skip(reason="is about the file of SQLite"))


def database_in(directory: Path) -> str:
    """Make a directory that of a new collection in PostgreSQL, and return the URL of its schema."""
    schema = f"t_{blake2b(str(directory.resolve()).encode(), digest_size=8).hexdigest()}"
    url = f"postgresql://postgres@/postgres?host={os.environ['PGHOST']}&schema={schema}"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / URL_FILE).write_text(url)
    return url


@pytest.fixture(scope="session", autouse=True)
def _collections_on_postgres(request: pytest.FixtureRequest) -> Iterator[None]:
    if not on_postgres(request.config):
        yield
        return
    request.getfixturevalue("postgres")
    create = creation.create

    def create_there(directory: Path, *arguments: Any, **named: Any) -> Any:
        if not (directory / "collection.db").exists() and database_url(directory) is None:
            database_in(directory)
        return create(directory, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("moverank.indexer.indexing.creation.create", create_there)
        patch.setenv("MOVERANK_TEST_STORE", "postgresql")
        yield
