"""Ray, started once for the tests of a module: each start takes seconds."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

# While it starts and ends.
RAYS_OWN_WARNINGS = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@contextmanager
def running_ray() -> Iterator[None]:
    """Start Ray on this machine, and stop it at the end; skip the tests where it is not installed."""
    ray = pytest.importorskip("ray", reason="needs the extra `ray`")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, namespace="moverank")
    yield
    ray.shutdown()
