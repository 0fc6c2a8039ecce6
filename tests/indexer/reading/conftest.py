from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moverank.indexer.documents import Document, Rejection
from moverank.indexer.reading import read_documents, read_threads


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str | bytes], str]:
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
def documents() -> Callable[..., tuple[list[Document], list[Rejection]]]:
    def read(*paths: str, **options: Any) -> tuple[list[Document], list[Rejection]]:
        return _split(list(read_documents(paths, **options)))

    return read


@pytest.fixture
def threads() -> Callable[..., tuple[list[Document], list[Rejection]]]:
    def read(*paths: str, **options: Any) -> tuple[list[Document], list[Rejection]]:
        return _split(list(read_threads(paths, **options)))

    return read
