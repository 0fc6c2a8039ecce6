import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.indexer.maintenance.damage import DOCUMENTS
from tests.indexer.world import CollectionFactory

Indexed = Callable[..., Path]
"""Type of the fixture `indexed`: settings by name -> the directory of a closed collection of `DOCUMENTS`."""


@pytest.fixture(scope="module")
def _prepared() -> dict[str, Path]:
    """Return the directories of collections that tests copy, by settings."""
    return {}


@pytest.fixture
def indexed(_prepared: dict[str, Path], factory: CollectionFactory, tmp_path: Path) -> Indexed:
    """Return a function that copies a closed collection of `DOCUMENTS`, which have a snapshot."""

    def copy(**choices: Any) -> Path:
        if "MOVERANK_TEST_STORE" in os.environ:  # a copy of the directory would be in the same database
            return factory.closed(DOCUMENTS, **choices)
        name = repr(choices)
        if name not in _prepared:
            _prepared[name] = factory.closed(DOCUMENTS, **choices)
        return shutil.copytree(_prepared[name], tmp_path / "copy")

    return copy


@pytest.fixture
def directory(indexed: Indexed) -> Path:
    """Return the directory of a closed collection of `DOCUMENTS` with default settings."""
    return indexed()


@pytest.fixture(params=[{}, {"weights": "tfidf"}, {"faiss": "IVF2,Flat"}, {"gamma": 0.5}], ids=repr)
def any_directory(request: pytest.FixtureRequest, indexed: Indexed) -> Path:
    """Return the directory of a closed collection of `DOCUMENTS` with various settings."""
    return indexed(**request.param)
