"""The hits of a search as the values of a template."""

from dataclasses import dataclass
from math import isnan
from typing import Any

from moverank.indexer.documents import Metadata
from moverank.indexer.formatters.marking import Segments, marked, marks_of_words, words_of
from moverank.indexer.formatters.query_words import ranking_words
from moverank.indexer.formatters.sentences import Share, legend, measure, shares, verdict, work_done
from moverank.indexer.metadata import values_by_field
from moverank.indexer.server.served import State as View
from moverank.rerank.ranking import Ranking

PROOF = "“compare all documents”"
_LONGEST_VALUE = 80


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit: `value` is the number that ranks it, called `measure`; `parts` are those of a total."""

    key: str
    title: Segments
    snippet: Segments
    label: str | None
    metadata: list[tuple[str, str]]
    measure: str
    value: str
    parts: list[Share]


def shown_ranking(ranking: Ranking, view: View, texts: list[str]) -> dict[str, Any]:
    """Return what a page shows of a ranking; words of `texts`, the query, are marked."""
    marks = marks_of_words(words_of(texts, view.settings.stop_words))
    return {
        "hits": [
            ShownHit(
                hit.key,
                marked(hit.title or hit.key, marks),
                marked(hit.snippet, marks),
                hit.label,
                metadata_values(hit.metadata),
                name,
                number(value),
                parts=list(shares(ranking.terms, hit.parts, hit.costs)),
            )
            for hit, (name, value) in zip(ranking.hits, map(measure, ranking.hits), strict=True)
        ],
        "certified": ranking.certified,
        "verdict": verdict(ranking, PROOF),
        "work": work_done(ranking, ranking.seconds),
        "legend": legend(ranking),
        "terms": []
        if all(hit.total is None for hit in ranking.hits)
        else [(term, None, None) for term in ranking.terms],
        "ranked_by": ranking.ranked_by,
        "words": list(ranking_words(ranking)),
    }


def metadata_values(metadata: Metadata) -> list[tuple[str, str]]:
    """Return names and values of metadata, the values of a list in one; long ones are cut."""
    joined = ((name, ", ".join(values)) for name, values in values_by_field(metadata).items())
    return [(name, text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…") for name, text in joined]


def number(value: float) -> str:
    """Return a number; a dash for a missing one."""
    return "-" if isnan(value) else f"{value:.4f}"
