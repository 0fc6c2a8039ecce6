"""Stored documents that another engine found: ranked by their bags, without their texts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from moverank.indexer.arguments import texts as checked_texts
from moverank.indexer.arguments import whole_number
from moverank.indexer.documents import whole_text
from moverank.indexer.errors import UnknownKey
from moverank.indexer.search.engine_scores import Scores, engine_scores
from moverank.indexer.search.query import Outcome, Prior, Query
from moverank.indexer.search.whole_ranking import Candidate, whole_ranking
from moverank.indexer.store import Reader
from moverank.rerank.ranking import Ranking


@dataclass(frozen=True, slots=True, eq=False)
class StoredCandidates:
    """Candidates by document id, `ranked`, those that are `missing` in the collection, and the engine's `scores`."""

    ranked: dict[int, list[Candidate]]
    missing: list[Candidate]
    scores: Prior | None

    @classmethod
    def of(cls, reader: Reader, keys: Sequence[str], scores: Scores | None, *, full: bool) -> "StoredCandidates":
        """Find documents by key, and read their texts if `full`.

        Raises UnknownKey if there is none of them, UsageError for a single key or bad scores.
        """
        keys = checked_texts("keys", keys)
        known = reader.known(list(dict.fromkeys(keys)))
        if keys and not known:
            raise UnknownKey(f"the collection has none of the candidates: no document has the key {keys[0]!r}")
        ids = [known[key].id if key in known else 0 for key in keys]
        stored = sorted({*ids} - {0})
        shown, metadata, texts = reader.shown(stored), reader.metadata(stored), reader.texts(stored) if full else {}
        ranked: dict[int, list[Candidate]] = {}
        missing = []
        for index, (key, id_) in enumerate(zip(keys, ids, strict=True)):
            if id_:
                text = whole_text(texts.get(id_, [])) if full else None
                found = Candidate(index, key, shown[id_].title, shown[id_].label, metadata[id_], text)
                ranked.setdefault(id_, []).append(found)
            else:
                missing.append(Candidate(index, key))
        return cls(ranked, missing, engine_scores(scores, keys, np.array(ids, np.int64)))

    @property
    def all(self) -> list[Candidate]:
        """Return all candidates in the order given."""
        found = [one for candidates in self.ranked.values() for one in candidates] + self.missing
        return sorted(found, key=lambda one: one.index)

    def restrict(self, query: Query, k: int | None) -> Query:
        """Return `query` for these documents only, the first `k` (None: all) exactly; UsageError for k below 1."""
        k = None if k is None else whole_number("k", k)
        allowed = np.array(sorted(self.ranked), np.int64)
        k = max(1, min(k or len(allowed), len(allowed)))
        return replace(query, allowed=allowed, k=k, depth=None, whole=True, engine_scores=self.scores)

    def ranking(self, outcome: Outcome, query: Query) -> Ranking:
        """Return the ranking of all candidates for the `outcome` of `query`."""
        found = whole_ranking(outcome, self.ranked, self.missing)
        words = query.words
        about = replace(found, ranked_by=str(query.ranking), seconds=outcome.seconds)
        return replace(about, unknown_words=words.unknown, ignored_words=words.ignored)
