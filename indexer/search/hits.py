"""Turns an outcome into hits with keys, titles, snippets and flows."""

from moverank.indexer.search.explanations import explain_words
from moverank.indexer.search.query import Outcome, Query
from moverank.indexer.search.query_parser import QueryParser
from moverank.indexer.search.snippet import snippet
from moverank.indexer.store import Reader
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.ranking import Flow, Hit, Ranking


def ranking_of(reader: Reader, parser: QueryParser, outcome: Outcome, query: Query, *, explained: bool) -> Ranking:
    """Return the ranking for the `outcome` of `query`, with flows if `explained`.

    `reader` and `parser` see the state that was searched.
    """
    ids = outcome.ids.tolist()
    shown, texts, metadata = reader.shown(ids), reader.texts(ids), reader.metadata(ids)
    hits = []
    for position, (id_, distance) in enumerate(zip(ids, outcome.distances.tolist(), strict=True)):
        flows = _flows(parser, query, id_) if explained else ()
        about = [flow.target for flow in flows] or query.words.all_texts or query.words.texts
        key, title, label = shown[id_]
        extract = snippet(texts.get(id_, []), title, about)
        parts = tuple((name, float(values[position])) for name, values in outcome.parts.items())
        scored = None if outcome.scores is None else float(outcome.scores[position])
        total = None if outcome.totals is None else float(outcome.totals[position])
        hits.append(Hit(key, distance, title, label, extract, flows, scored, parts, total, metadata[id_]))
    proof = (outcome.certified, outcome.scope, outcome.counts, outcome.largest_error, outcome.seconds)
    words = query.words
    return Ranking(
        tuple(hits), *proof, ranked_by=str(query.ranking), unknown_words=words.unknown, ignored_words=words.ignored
    )


def _flows(parser: QueryParser, query: Query, id_: int) -> tuple[Flow, ...]:
    """Return the flows of a hit; there are none without transport, and for documents without a bag."""
    if not query.ranking.has_transport or not len(query.words.weights):
        return ()
    try:
        return explain_words(query.words, parser.stored(id_, query.ranking)).flows
    except NoKnownWords:
        return ()
