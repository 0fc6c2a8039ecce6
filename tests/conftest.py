"""Set-up of all tests."""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.engines.postgres_server import ServerUnavailableError, postgres_server

pytest_plugins = ["tests.records", "tests.postgres_store"]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a shell's job in the background: programs inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
if "PYTEST_XDIST_WORKER" in os.environ:  # one process for each core: threads of libraries would wait for each other
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# Compiling a kernel or importing POT takes longer than an example may: time is measured by the benchmarks. A property
# that needs more or fewer examples has a factor: tests/samples.py.
_TIMELESS: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}
settings.register_profile("moverank", max_examples=12, **_TIMELESS)
settings.register_profile("thorough", max_examples=100, **_TIMELESS)  # of .ci/run: --hypothesis-profile=thorough
settings.load_profile("moverank")

_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of a random name is created in it
_NEEDED = 2 * 2**30
_SLOWEST = (
    "test_fault_tolerance.py",  # compiles most kernels, for all that come after it
    "test_environments.py",  # needs them last: the other worker begins with it
    "test_bounds.py",  # compiles those of large collections
    "test_exact_search.py",
    "test_cluster.py",
    "test_packaging.py",  # takes the compiled kernels of the checkout with it
    "test_scikit_learn.py",
)


def pytest_configure(config: pytest.Config) -> None:
    """Keep temporary files in memory if there is room: on disk, a third of the time is spent on waiting for syncs.

    An explicit TMPDIR or --basetemp stays in use. Worker processes inherit the directory.
    """
    if "TMPDIR" in os.environ or not _MEMORY.is_dir() or shutil.disk_usage(_MEMORY).free < _NEEDED:
        return
    directory = tempfile.mkdtemp(prefix="moverank-tests-", dir=_MEMORY)
    os.environ["TMPDIR"] = tempfile.tempdir = directory
    config.add_cleanup(lambda: shutil.rmtree(directory, ignore_errors=True))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose plug-ins are removed, and one of what this system lacks."""
    if os.name == "nt" and item.get_closest_marker("unix"):
        pytest.skip("of what Windows lacks")
    for name in (name for mark in item.iter_markers("plugin") for name in mark.args):
        pytest.importorskip(f"moverank.indexer.plugins.{name}", reason=f"the plug-in {name} is removed")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the directory of real data beside the checkout; skip the test if there is none."""
    directory = Path(__file__).resolve().parents[2] / "shared"
    if not directory.is_dir():
        pytest.skip("needs the real data beside the checkout, ../shared")
    return directory


@pytest.fixture(scope="session")
def postgres() -> Iterator[None]:
    """Run a PostgreSQL server with pgvector, which clients find by the environment; skip the test if it cannot run."""
    try:
        with postgres_server() as variables, pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            yield
    except ServerUnavailableError as reason:
        pytest.skip(str(reason))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slowest files, so that the workers finish together: each file is run by one of them."""
    places = {name: place for place, name in enumerate(_SLOWEST)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))
