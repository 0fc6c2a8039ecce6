"""Plug-ins in the tests of the core: what is there without those whose folder has been removed."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from moverank.indexer.operations.operation_registry import PLUG_INS
from moverank.indexer.values.ranking_spec import ranking_names
from moverank.rerank import entry_points
from moverank.rerank.encoders.first_stages import ENCODERS
from moverank.rerank.scorers import SCORERS

_REMOVED = {*ENCODERS, *SCORERS} - {*ranking_names()}


def installed(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the `specs`, rankings or encoders with options, of which each part is installed."""
    return tuple(spec for spec in specs if not any(name in spec for name in _REMOVED))


def remove_plug_ins(patch: pytest.MonkeyPatch, place: Path) -> None:
    """Let no operation of a plug-in be found, as if their folders were removed; `place` is an empty directory."""
    patch.setattr(entry_points.EntryPoint, "is_there", False)
    patch.setattr(PLUG_INS, "_loaded", {})
    patch.syspath_prepend(place)  # entry points are read again
