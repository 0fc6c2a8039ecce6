"""Rankings made from their JSON objects: what another process has searched is printed as if it were our own."""

from collections.abc import Mapping
from math import nan
from typing import Any

from moverank.rerank.ranking import Flow, Hit, Ranking, StageCounts


def ranking_of_object(values: Mapping[str, Any]) -> Ranking:
    """Return the ranking whose object is `values`; see `ranking_object`. KeyError and TypeError for any other."""
    unknown, ignored = (tuple(values[name]) if name in values else None for name in ("unknown_words", "ignored_words"))
    return Ranking(
        tuple(_hit(hit) for hit in values["hits"]),
        bool(values["certified"]),
        values["scope"],
        StageCounts(**values["counts"]),
        float(values["largest_error"]),
        float(values["seconds"]),
        None,
        str(values["ranking"]),
        unknown,
        ignored,
        missing_shards=tuple(values.get("missing_shards", ())),
    )


def _hit(values: Mapping[str, Any]) -> Hit:
    distance, total = values["distance"], values.get("total")
    return Hit(
        values["key"],
        nan if distance is None else float(distance),
        values["title"],
        values["label"],
        values["snippet"],
        tuple(Flow(**flow) for flow in values.get("flows", ())),
        float(values["score"]) if distance is None and total is None else None,
        tuple((name, nan if value is None else float(value)) for name, value in values.get("parts", {}).items()),
        total,
        values["metadata"],
        text=values.get("text"),
    )
