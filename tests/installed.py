"""Rankings and encoders in the tests of the core, without those of plug-ins whose folder has been removed."""

from collections.abc import Iterable

from moverank.indexer.ranking_spec import ranking_names
from moverank.rerank.encoders.first_stages import ENCODERS
from moverank.rerank.scorers import SCORERS

_REMOVED = {*ENCODERS, *SCORERS} - {*ranking_names()}


def installed(specs: Iterable[str]) -> tuple[str, ...]:
    """Return the `specs`, rankings or encoders with options, of which each part is installed."""
    return tuple(spec for spec in specs if not any(name in spec for name in _REMOVED))
