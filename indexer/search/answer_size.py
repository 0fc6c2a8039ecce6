"""The size of an answer in characters, which its caller may limit."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from math import inf

from moverank.indexer.store import Reader
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.errors import TooLarge
from moverank.rerank.ranking import Flow, Hit

_OF_WORD, _OF_HIGHLIGHT, _OF_SPAN = 100, 100, 40
"""Characters in JSON; a hit has at most as many flows as both bags have words."""


class AnswerSize:
    """Counts the characters of an answer; each method raises TooLarge beyond `most`, None: no limit."""

    def __init__(self, most: int | None) -> None:
        self._most, self._size = most, 0

    def add_texts(self, reader: Reader, ids: Sequence[int]) -> None:
        """Count the texts of documents before they are read."""
        if self._most is not None:
            self._add(reader.text_length(ids))

    def add_facts(self, characters: int) -> None:
        """Count what pairs show of their documents."""
        self._add(characters)

    def add_bags(self, *sizes: int) -> None:
        """Count the flows between bags of so many words."""
        self._add(_OF_WORD * sum(sizes))

    def add_places(self, hit: Hit) -> None:
        """Count the spans of a hit's flows, its highlights, and the text of its passage."""
        highlights = len(hit.highlights) + len(hit.snippet_highlights)
        text = 0 if hit.passage is None else len(hit.passage.text)
        self._add(sum(map(_spans_of, hit.flows)) + _OF_HIGHLIGHT * highlights + text)

    @property
    def most_highlights(self) -> float:
        """Return the largest number of highlights within the limit, infinite without one."""
        return inf if self._most is None else self._most // _OF_HIGHLIGHT

    def cut(self, explanation: Explanation) -> Explanation:
        """Return an explanation without the last highlights, and the spans of the last flows, beyond the limit."""
        if self._most is None:
            return explanation
        sizes = accumulate(map(_spans_of, explanation.flows), initial=self._size)
        flows = [
            flow if before + _spans_of(flow) <= self._most else replace(flow, source_spans=(), target_spans=())
            for flow, before in zip(explanation.flows, sizes, strict=False)
        ]
        room = self._most - self._size - sum(map(_spans_of, flows))
        return replace(explanation, flows=tuple(flows), highlights=explanation.highlights[: room // _OF_HIGHLIGHT])

    def _add(self, characters: int) -> None:
        self._size += characters
        if self._most is not None and self._size > self._most:
            raise TooLarge(
                f"the texts, flows and highlights of the answer, and the texts that are read for it, would have more "
                f"than {self._most:,} characters (each word in flows and each highlight counts {_OF_WORD}, each span "
                f"{_OF_SPAN}): request fewer hits, or no texts, flows, highlights or passages"
            )


def _spans_of(flow: Flow) -> int:
    """Return the characters of the spans of a flow."""
    return _OF_SPAN * (len(flow.source_spans) + len(flow.target_spans))
