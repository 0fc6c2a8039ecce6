from collections.abc import Callable, Iterable
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


def split(results: Iterable[Document | Rejection]) -> tuple[list[Document], list[Rejection]]:
    """Return the documents of results, and the rejections."""
    found = list(results)
    documents = [item for item in found if isinstance(item, Document)]
    return documents, [item for item in found if isinstance(item, Rejection)]


@pytest.fixture
def documents() -> Read:
    return lambda *paths, **options: split(read_documents(paths, **options))


@pytest.fixture
def threads() -> Read:
    return lambda *paths, **options: split(read_threads(paths, **options))
