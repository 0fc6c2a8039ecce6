"""A schema dumped by PostgreSQL's own programs, and restored in another database, is the same collection."""

import os
import subprocess
from pathlib import Path

import pytest

from moverank import Collection
from moverank.indexer.files.location import CACHE, collection_directory
from moverank.indexer.maintenance.check import check_collection
from tests.engines.postgres_server import ServerUnavailableError, server_programs
from tests.indexer.world import CollectionFactory, Twin, check_exact, document, random_documents

pytestmark = pytest.mark.usefixtures("postgres")
_QUERY = "ant bee cat"


@pytest.fixture(scope="session")
def programs() -> Path:
    try:
        directory = server_programs() / "bin"
    except ServerUnavailableError as reason:
        pytest.skip(str(reason))
    if not (directory / "pg_dump").exists():
        pytest.skip("the server comes without pg_dump")
    return directory


@pytest.mark.parametrize("form", ["plain", "custom"])
def test_a_restored_dump_is_the_same_collection(
    programs: Path, factory: CollectionFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    dump, restored = tmp_path / "dump", f"restored_{form}"
    schema = f"Dumped_{form}"
    own, other = (
        f"postgresql://postgres@/{name}?host={os.environ['PGHOST']}&schema={schema}" for name in ("postgres", restored)
    )

    def run(name: str, *arguments: str | Path) -> None:
        done = subprocess.run([programs / name, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    with Collection.create(own, factory.settings(title_weight=2)) as collection:
        collection.index(random_documents(30))
        collection.remove(["d3"])
        run("pg_dump", "--schema", f'"{schema}"', "--format", form, "--file", dump, "postgres")
        run("createdb", restored)
        if form == "plain":
            run("psql", "--quiet", "--set", "ON_ERROR_STOP=1", "--file", dump, restored)
        else:
            run("pg_restore", "--exit-on-error", "--dbname", restored, dump)
        twin = Twin.of(one for one in random_documents(30) if one.key != "d3")
        with Collection.open(other) as opened:
            check_exact(opened.search(_QUERY, k=9), twin.distances(_QUERY), 9)
            assert list(opened) == list(collection)
            assert check_collection(opened.path).sentences() == ()
            twin.add([document("after", _QUERY)])
            assert opened.index([document("after", _QUERY)]).added == 1  # with a new id
            check_exact(opened.search(_QUERY, k=9), twin.distances(_QUERY), 9)
        assert check_collection(collection_directory(other)).sentences() == ()
        assert "after" not in collection
