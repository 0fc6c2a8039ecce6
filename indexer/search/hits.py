"""Turns an outcome into hits with keys, titles, snippets and flows."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from moverank.indexer.documents import whole_text
from moverank.indexer.options import SearchOptions
from moverank.indexer.search.document_words import DocumentWords
from moverank.indexer.search.explanations import explain_words
from moverank.indexer.search.query import Outcome, Query, QueryWords
from moverank.indexer.search.snippet import snippet
from moverank.indexer.store import Reader
from moverank.indexer.store.reader import DisplayFields
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Hit, Ranking


@dataclass(frozen=True, slots=True)
class StoredHits:
    """What the database has about hits, by id: fields, texts, metadata, and the words of bags whose flows are shown.

    `full`: the hits have their whole texts.
    """

    shown: Mapping[int, DisplayFields]
    texts: Mapping[int, Sequence[str]]
    metadata: Mapping[int, Mapping[str, Any]]
    bags: Mapping[int, QueryWords]
    full: bool

    @classmethod
    def of(
        cls, reader: Reader, documents: DocumentWords, outcome: Outcome, query: Query, options: SearchOptions
    ) -> "StoredHits":
        """Read the hits of an `outcome` with what `options` request of them; both readers see the searched state."""
        ids = outcome.ids.tolist()
        bags = _bags(documents, query, ids) if options.explained else {}
        return cls(reader.shown(ids), reader.texts(ids), reader.metadata(ids), bags, options.full)


def ranking_of(stored: StoredHits, outcome: Outcome, query: Query) -> Ranking:
    """Return the ranking for the `outcome` of `query`, whose hits are `stored`; it has flows where these have bags."""
    ids = outcome.ids.tolist()
    hits = []
    for position, (id_, distance) in enumerate(zip(ids, outcome.distances.tolist(), strict=True)):
        flows = explain_words(query.words, stored.bags[id_]).flows if id_ in stored.bags else ()
        about = [flow.target for flow in flows] or query.words.all_texts or query.words.texts
        key, title, label = stored.shown[id_]
        texts = stored.texts.get(id_, [])
        extract, text = snippet(texts, title, about), whole_text(texts) if stored.full else None
        parts, costs = outcome.terms_of(position)
        scored = None if outcome.scores is None else float(outcome.scores[position])
        total = None if outcome.totals is None else float(outcome.totals[position])
        about_hit = (key, distance, title, label, extract, flows, scored, parts, total, stored.metadata[id_])
        hits.append(Hit(*about_hit, text=text, costs=costs))
    proof = (outcome.certified, outcome.scope, outcome.counts, outcome.largest_error, outcome.seconds)
    words = query.words
    return Ranking(
        tuple(hits),
        *proof,
        ranked_by=str(query.ranking),
        unknown_words=words.unknown,
        ignored_words=words.ignored,
        terms=outcome.terms,
        why_empty=query.why_empty,
    )


def _bags(documents: DocumentWords, query: Query, ids: Sequence[int]) -> dict[int, QueryWords]:
    """Return the words of hits' bags; there are none without transport, and of documents without a bag."""
    bags = dict[int, QueryWords]()
    if query.ranking.has_transport and len(query.words.weights):
        for id_ in ids:
            with suppress(NoKnownWords):
                bags[id_] = documents.bag(id_, query.ranking)
    return bags
