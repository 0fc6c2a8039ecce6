"""What `info` shows from what is stored, without reading arrays, is what the open collection says."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection
from moverank.indexer.state.summary import stored_summary
from moverank.indexer.store import direct_reader
from tests.indexer.world import MakeCollection, document, random_documents

pytestmark = pytest.mark.sqlite("of a file")

HEAVY = {"alembic", "faiss", "gensim", "llvmlite", "numba", "numpy", "ot", "scipy", "sqlalchemy"}


def _stored(place: Path) -> dict[str, Any] | None:
    with direct_reader(place) as reader:
        assert reader is not None
        return stored_summary(reader, place)


def _loaded(arguments: Sequence[str | Path]) -> set[str]:
    """Return the packages which a process of the command line has imported at its end."""
    code = (
        "import sys; from moverank import cli; sys.argv[0] = 'moverank'\n"
        "try: cli.main()\nfinally: print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.usefixtures("always_compact")
def test_it_is_that_of_the_open_collection(collection: Collection) -> None:
    collection.index(random_documents(9, "ant zorp"))
    stored, info = _stored(collection.path), collection.info()
    assert stored == info
    assert stored is not None
    assert list(stored) == list(info)
    assert stored["faiss_in_use"]


def test_it_follows_changes_once_their_words_are_counted(collection: Collection) -> None:
    collection.index([document("a", "ant zorp")])
    assert _stored(collection.path) == collection.info()
    collection.remove(["a"])
    assert _stored(collection.path) is None
    info = collection.info()
    assert (info["documents"], info["coverage"]) == (0, None)
    assert _stored(collection.path) == info
    collection.change_settings(gamma=0.5)
    assert _stored(collection.path) == collection.info()


def test_without_usable_vectors_it_is_left_to_the_collection(make_collection: MakeCollection) -> None:
    untrained = make_collection(embedding="auto")
    untrained.index([document("a", "ant")])
    assert _stored(untrained.path) is None
    collection = make_collection()
    collection.index([document("a", "ant")])
    assert _stored(collection.path) is not None
    words = collection.path / "vectors" / "words"
    content = words.read_bytes()
    for damaged in (content[:-1], content[:-1] + b"?"):
        words.write_bytes(damaged)
        assert _stored(collection.path) is None
    words.write_bytes(content)
    assert _stored(collection.path) is not None
    manifest = collection.path / "vectors" / "embedding.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"words"', b'"Words"'))
    assert _stored(collection.path) is None


@pytest.mark.slow
@pytest.mark.parametrize("command", [["info"], ["info", "--json"], ["list"], ["list", "-n", "1", "--json"]])
def test_info_and_list_import_nothing_heavy(collection: Collection, command: list[str]) -> None:
    collection.index([document("a", "ant zorp"), document("b", "bee")])
    loaded = _loaded([*command, "-i", collection.path])
    assert "sqlite3" in loaded
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.slow
def test_remove_imports_no_compiler(collection: Collection) -> None:
    collection.index([document("a", "ant zorp"), document("b", "bee")])
    assert _loaded(["remove", "a", "-i", collection.path]).isdisjoint(HEAVY - {"numpy", "sqlalchemy"})
