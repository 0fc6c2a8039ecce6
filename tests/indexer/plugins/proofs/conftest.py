"""A small proof, and collections that are searched without being changed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from moverank import ProofRejected, Verified, verify
from tests.indexer.plugins.proofs.files import Content, content_of
from tests.indexer.search.conftest import Searchable, searchable

__all__ = ["Searchable", "searchable"]

Why = Callable[..., str]
"""Returns why the bytes of a file are rejected."""

Check = Callable[..., Verified | None]
"""Returns what the bytes of a file prove, None if they are rejected."""


@pytest.fixture(scope="module")
def proof(searchable: Searchable, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The proof of the five nearest of 63 documents; the query has two words that all documents have."""
    collection, _ = searchable.flat()
    path = tmp_path_factory.mktemp("proofs") / "small.proof"
    collection.prove(path, "ant bee bee gnu", k=5, rank="wmd", exact=True)
    return path.read_bytes()


@pytest.fixture
def content(proof: bytes) -> Content:
    return content_of(proof)


@pytest.fixture(scope="session")
def check(tmp_path_factory: pytest.TempPathFactory) -> Check:
    path: Path = tmp_path_factory.mktemp("checked") / "proof"

    def verified(data: bytes, digest: str | None = None, k: int | None = None) -> Verified | None:
        path.write_bytes(data)
        try:
            return verify(path, digest, k)
        except ProofRejected:
            return None

    return verified


@pytest.fixture
def why(tmp_path: Path) -> Why:
    def rejected(data: bytes, digest: str | None = None, k: int | None = None) -> str:
        (tmp_path / "proof").write_bytes(data)
        with pytest.raises(ProofRejected) as reason:
            verify(tmp_path / "proof", digest, k)
        return str(reason.value)

    return rejected
