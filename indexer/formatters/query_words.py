"""Lines that name the words of a query without a vector, and those without effect."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from moverank.indexer.formatters.escaping import printable
from moverank.rerank.ranking import Ranking

if TYPE_CHECKING:  # it would import numpy
    from moverank.rerank.distance.explain import Explanation

_SHOWN = 12  # words of a line; a query may be a whole text


def ranking_words(ranking: Ranking) -> Iterator[str]:
    """Yield a line for the words that are compared only as words, and one for those that are ignored."""
    unknown, ignored = ranking.unknown_words or (), ranking.ignored_words or ()
    if not (unknown or ignored):
        return
    from moverank.indexer.ranking_spec import parse_ranking  # likewise

    spec = parse_ranking(ranking.ranked_by)
    if not spec.compares_vectors:
        yield from _line("Ignored, in no document", ignored)
    elif not spec.counted:
        yield from _line("Ignored, without a vector", ignored)
    else:
        yield from _line("Without a vector, compared only as words", [word for word in unknown if word not in ignored])
        yield from _line("Ignored, without a vector and in no document", ignored)


def explanation_words(explanation: "Explanation") -> Iterator[str]:
    """Yield a line for the words of the query that cannot be in a flow."""
    return _line("Without a vector, in no flow", explanation.unknown_words)


def _line(what: str, words: Sequence[str]) -> Iterator[str]:
    if words:
        more = f" and {len(words) - _SHOWN:,} more" if len(words) > _SHOWN else ""
        yield printable(f"{what}: {', '.join(words[:_SHOWN])}{more}.")
