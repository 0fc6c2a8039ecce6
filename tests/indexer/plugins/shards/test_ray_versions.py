"""Versions of Ray: one that runs what strangers send it is not started."""

import re
from pathlib import Path

import pytest

from moverank.indexer.errors import CollectionError
from moverank.indexer.plugins.shards.actors import LEAST_RAY, RayShards
from moverank.indexer.plugins.shards.cluster_file import ClusterFile, new_shards

ray = pytest.importorskip("ray", reason="needs the extra `ray`")

_OPEN = "shards need Ray 2.59 or later: {} runs what strangers send it: python -m pip install 'moverank[ray]'"


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2.40.0", _OPEN),
        ("2.58.9", _OPEN),
        ("2.9.3", _OPEN),
        ("2.59.0rc1", "cannot be used: started"),
        ("3.0", "started"),
    ],
)
def test_a_ray_that_is_open_to_strangers_is_not_started(
    version: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(**_: object) -> None:
        raise RuntimeError("started")

    monkeypatch.setattr(ray, "__version__", version)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", start)
    with pytest.raises(CollectionError, match=re.escape(said.format(version))):
        RayShards(ClusterFile(tmp_path / "forum.toml", new_shards(tmp_path / "forum.toml", 2, [])))


def test_the_package_requires_a_ray_that_is_closed() -> None:
    requirements = Path(__file__).parents[4].joinpath("pyproject.toml").read_text()
    assert re.findall(r'"ray>=([^"]*)"', requirements) == [".".join(map(str, LEAST_RAY))]
