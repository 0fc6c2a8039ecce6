"""What the tests of several packages share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

if "PYTEST_XDIST_WORKER" in os.environ:  # one process for each core: threads of libraries would wait for each other
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# Compiling a kernel or importing POT takes longer than an example may: time is measured by the benchmarks.
settings.register_profile("moverank", deadline=None, max_examples=40)
settings.register_profile("thorough", deadline=None, max_examples=1000)  # pytest --hypothesis-profile=thorough
settings.load_profile("moverank")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of real data beside the checkout; skip where there is none."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("needs the real data beside the checkout, ../shared")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the fresh install: it takes longest, and another process does the rest meanwhile."""
    items.sort(key=lambda item: item.path.name != "test_packaging.py")
