from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return an unused path for a database."""
    return tmp_path / "collection.db"
