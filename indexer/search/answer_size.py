"""The size of an answer in characters, which its caller may limit."""

from collections.abc import Iterable, Sequence

from moverank.indexer.store import Reader
from moverank.rerank.errors import TooLarge
from moverank.rerank.ranking import Flow, Highlight

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

    def add_bags(self, *sizes: int) -> None:
        """Count the flows between bags of so many words."""
        self._add(_OF_WORD * sum(sizes))

    def add_places(self, flows: Iterable[Flow], highlights: Sequence[Highlight]) -> None:
        """Count the spans of flows, and highlights."""
        spans = sum(len(flow.source_spans) + len(flow.target_spans) for flow in flows)
        self._add(_OF_SPAN * spans + _OF_HIGHLIGHT * len(highlights))

    def _add(self, characters: int) -> None:
        self._size += characters
        if self._most is not None and self._size > self._most:
            raise TooLarge(
                f"the texts, flows and highlights of the answer would have more than {self._most:,} characters (each "
                f"word in flows and each highlight counts {_OF_WORD}, each span {_OF_SPAN}): request fewer hits, or "
                "no texts, flows or highlights"
            )
