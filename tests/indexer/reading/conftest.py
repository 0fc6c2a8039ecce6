from collections.abc import Callable
from pathlib import Path

import pytest

from moverank.indexer.reading import read_documents, read_threads
from moverank.indexer.values.documents import Document, Rejection

Write = Callable[[str, str | bytes], str]
"""Writes a file of a name below the working directory, and returns the name."""
Read = Callable[..., tuple[list[Document], list[Rejection]]]
"""Reads paths with options: documents, and what is rejected."""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a file below an empty working directory and returns its path."""
    monkeypatch.chdir(tmp_path)

    def write_file(path: str, content: str | bytes) -> str:
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def _split(results: list[Document | Rejection]) -> tuple[list[Document], list[Rejection]]:
    documents = [item for item in results if isinstance(item, Document)]
    return documents, [item for item in results if isinstance(item, Rejection)]


@pytest.fixture
def documents() -> Read:
    return lambda *paths, **options: _split(list(read_documents(paths, **options)))


@pytest.fixture
def threads() -> Read:
    return lambda *paths, **options: _split(list(read_threads(paths, **options)))
