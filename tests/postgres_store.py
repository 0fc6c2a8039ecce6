"""Runs tests on PostgreSQL (`pytest --store postgresql`): every new collection is in a schema of its own of one server.

Its directory is where it would be otherwise, and has the derived files. Tests of what a collection does in its database
have the mark `store`, those of SQLite's files the mark `sqlite`.
Collections that other processes create are in `new_place`; those that are copied are made by `copied`.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from moverank.indexer.files.location import TRUSTED, URL_FILE, database_url
from moverank.indexer.indexing import creation
from moverank.indexer.maintenance.backup import copy_collection
from moverank.indexer.store import Store
from tests.engines.postgres_server import postgres_server

OPTION = "--store"
_VARIABLE = "MOVERANK_TEST_STORE"
_ROOMS = ("indexing", "maintenance", "state", "store", "watching")
"""All of their tests have the mark `store`, but for those that use PostgreSQL anyway; single others have it, too."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that chooses where the collections of tests are."""
    parser.addoption(OPTION, choices=("sqlite", "postgresql"), default="sqlite", help="database of the collections")


def on_postgres(config: pytest.Config) -> bool:
    """Return whether the tests run on PostgreSQL."""
    return bool(config.getoption(OPTION) == "postgresql")


@pytest.hookimpl(tryfirst=True)  # before items are chosen by their marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of rooms that use the database; skip tests of SQLite's files on PostgreSQL."""
    for item in items:
        if item.path.parent.name in _ROOMS and "postgres" not in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.store)
    if on_postgres(config):
        for item in items:
            if mark := item.get_closest_marker("sqlite"):
                item.add_marker(pytest.mark.skip(reason=mark.args[0]))


def schema_for(directory: Path) -> str:
    """Return the URL of a schema of the running server, another one for each directory."""
    schema = f"t_{blake2b(str(directory.resolve()).encode(), digest_size=8).hexdigest()}"
    return f"postgresql://postgres@/postgres?host={os.environ['PGHOST']}&schema={schema}"


def database_in(directory: Path) -> str:
    """Make a directory that of a new collection in PostgreSQL, and return the URL of its schema."""
    url = schema_for(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / URL_FILE).write_text(url)
    return url


def new_place(directory: Path) -> Path:
    """Return the directory of a collection which another process will create; on PostgreSQL it names a new schema."""
    if _VARIABLE in os.environ:
        database_in(directory)
    return directory


def copied(source: Path, target: Path) -> Path:
    """Copy a closed collection to a new directory, and return that; on PostgreSQL to a new schema, too."""
    if database_url(source) is None:
        return Path(shutil.copytree(source, target))
    database_in(target)
    copy_collection(source, target)
    for path in source.glob("snapshot-*"):
        shutil.copytree(path, target / path.name)
    return target


def removed(directory: Path) -> None:
    """Remove the directory of a collection that is closed, on PostgreSQL with its schema."""
    if url := database_url(directory):
        with closing(Store(url)) as store, store.writing() as writer:
            writer.clear()
    shutil.rmtree(directory)


@contextmanager
def collections_in(store: str) -> Iterator[None]:
    """Make `new_place` and `copied` of a program use a new server, if the store is PostgreSQL."""
    if store == "sqlite":
        yield
        return
    with postgres_server() as variables:
        os.environ |= variables | {_VARIABLE: store, TRUSTED: tempfile.gettempdir()}
        yield


@pytest.fixture(scope="session", autouse=True)
def _collections_on_postgres(request: pytest.FixtureRequest) -> Iterator[None]:
    if not on_postgres(request.config):
        yield
        return
    request.getfixturevalue("postgres")
    create = creation.create_collection

    def create_there(directory: Path, *arguments: Any, **named: Any) -> Any:
        if directory.exists() or (directory.parent / "collection.db").exists() or directory.suffix == ".jsonl":
            return create(directory, *arguments, **named)
        database_in(directory)
        try:
            return create(directory, *arguments, **named)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)  # as if it had not been made
            raise

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("moverank.indexer.indexing.create_collection", create_there)
        patch.setenv(_VARIABLE, "postgresql")
        patch.setenv(TRUSTED, str(request.getfixturevalue("tmp_path_factory").getbasetemp()))
        yield
