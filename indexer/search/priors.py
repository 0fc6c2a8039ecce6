"""Values of numeric fields, by which a ranking can prefer documents."""

from collections.abc import Iterable
from math import isfinite, nan

import numpy as np

from moverank.indexer.search.query import Prior
from moverank.indexer.store import Reader
from moverank.indexer.values.ranking_spec import PRIOR, RankingSpec


def prior_fields(rankings: Iterable[RankingSpec]) -> set[str]:
    """Return the names of the fields that rankings use."""
    return {dict(term.options)["field"] for ranking in rankings for term in ranking.terms if term.name == PRIOR}


def prior_of(reader: Reader, name: str) -> Prior | None:
    """Return the numbers in the field `name`; None if no document has one."""
    numbers = {id_: number for id_, text in reader.values(name) if isfinite(number := _as_number(text))}
    if not numbers:
        return None
    ids = np.array(sorted(numbers), np.int64)
    return Prior(ids, np.array([numbers[id_] for id_ in ids.tolist()]))


def _as_number(text: str) -> float:
    """Return a field's text as a number; nan for any other text."""
    try:
        return float(text)
    except ValueError:
        return nan
