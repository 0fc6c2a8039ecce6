"""The one face of a collection, in one place or in shards, here or behind a server: `run`, and short forms of it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from moverank.indexer import operations
from moverank.indexer.errors import UsageError
from moverank.indexer.operations.operation import Found, Operation
from moverank.indexer.values.arguments import items
from moverank.indexer.values.pair_options import DedupeOptions, PairOptions
from moverank.indexer.values.search_options import Progress, SearchOptions, Where, silent

if TYPE_CHECKING:  # a client imports none of them
    from pathlib import Path

    from moverank.indexer.search.near_documents import Deduplication, Pairs
    from moverank.indexer.values.documents import Event, Watch
    from moverank.indexer.values.queries import QueryText, Scores, SomeTexts, StoredKey
    from moverank.rerank.distance.explain import Explanation, WhyNot
    from moverank.rerank.plugins.evidence.evidence import Evidence
    from moverank.rerank.plugins.evidence.text_changes import TextChanges
    from moverank.rerank.ranking import Ranking


class Operated:
    """A collection, in one place or in shards, here or behind a server: it runs operations, and has short forms.

    Those of searches take a `SearchOptions`, or its fields as keywords: `search("late train", k=3)`.
    """

    def run(self, operation: Operation[Found], *, progress: Progress = silent) -> Found:
        """Return the answer to an operation; `progress` is called during long work in this process."""
        raise NotImplementedError

    def _answer_many(self, requests: "Iterable[QueryText | StoredKey]", options: SearchOptions) -> "Iterator[Ranking]":
        raise NotImplementedError

    def prepare(self, options: SearchOptions | None = None, *, progress: Progress = silent, **fields: Any) -> None:
        """Compute the data of all documents that searches with these options need: distances for mutual proximity.

        Otherwise the first search does so, without `progress`. An interrupted run continues later. A server does it
        by itself.
        """
        self._prepare(SearchOptions.of(options, fields), progress)

    def _prepare(self, options: SearchOptions, progress: Progress) -> None:
        pass

    def search(
        self,
        query: "QueryText",
        options: SearchOptions | None = None,
        *,
        vector: Iterable[float] | None = None,
        **fields: Any,
    ) -> "Ranking":
        """Find the documents nearest to a text, or to a `Document`: its title and ranks count as in stored ones.

        Its key does not matter: a stored document with the same content is a hit at distance 0. `vector`: the query's
        vector for the first stage `given`, instead of the vector of a `Document`; QueryVectorError if candidates are
        chosen by vectors and it is missing or unusable.
        """
        return self.run(operations.Search(query=query, vector=vector, options=SearchOptions.of(options, fields)))

    def search_many(
        self, queries: "Iterable[QueryText]", options: SearchOptions | None = None, **fields: Any
    ) -> "Iterator[Ranking]":
        """Find the documents nearest to each of many texts or `Document`s, in order, faster than one by one.

        A query without any known word has no hits; `Ranking.problem` gives the reason.
        """
        chosen = SearchOptions.of(options, fields)
        return self._answer_many(items("queries", queries), chosen)

    def similar_many(
        self, keys: Iterable[str], options: SearchOptions | None = None, **fields: Any
    ) -> "Iterator[Ranking]":
        """Find the documents nearest to each of many stored ones; see `search_many`."""
        from moverank.indexer.values.queries import StoredKey

        chosen = SearchOptions.of(options, fields)
        return self._answer_many(map(StoredKey, items("keys", keys)), chosen)

    def rerank(
        self,
        query: "QueryText",
        keys: Sequence[str],
        k: int | None = None,
        scores: "Scores | None" = None,
        rank: str | None = None,
        gamma: float | None = None,
        *,
        full: bool = False,
        highlight: bool = False,
        passage: int | None = None,
    ) -> "Ranking":
        """Rank stored documents, the candidates of another engine, by their stored words: no text is read.

        All candidates are returned, as by `Reranker.rank`, which has the same options; with `full`, their whole texts
        are read and returned, too. `highlight` and `passage` read the texts of the first `k`. A key that the collection
        lacks comes last, as `wordless`; UnknownKey if it lacks all keys.
        """
        return self.run(
            operations.Rerank(
                query=query,
                keys=keys,
                k=k,
                scores=scores,
                rank=rank,
                gamma=gamma,
                full=full,
                highlight=highlight,
                passage=passage,
            )
        )

    def similar(self, key: str, options: SearchOptions | None = None, **fields: Any) -> "Ranking":
        """Find the documents nearest to a stored one, which is excluded. Raises UnknownKey."""
        return self.run(operations.Similar(key=key, options=SearchOptions.of(options, fields)))

    def explain(
        self,
        query: "QueryText | None" = None,
        key: str = "",
        *,
        similar: str | None = None,
        vector: Iterable[float] | None = None,
        gamma: float | None = None,
        rank: str | None = None,
    ) -> "Explanation":
        """Return the exact distance of a text or record, `query`, from the document `key`, and its flows.

        `similar`: instead of a `query`, the key of a stored document that is compared with the document `key`.
        `gamma`: sensitivity to rank, and `rank`: the ranking whose terms are explained; by default the collection's.
        `vector` as in `search`. Raises UnknownKey.
        """
        named = operations.Explain(query=query, key=key, similar=similar, vector=vector, gamma=gamma, rank=rank)
        return self.run(named)

    def why_not(
        self,
        query: "QueryText | None" = None,
        key: str = "",
        options: SearchOptions | None = None,
        *,
        similar: str | None = None,
        vector: Iterable[float] | None = None,
        **fields: Any,
    ) -> "WhyNot":
        """Return the stage at which a search for `query` excludes the document `key`, with its bounds and distance.

        `options` and `vector` are the search's; `similar` as in `explain`. Raises UnknownKey.
        """
        chosen = SearchOptions.of(options, fields)
        excluded = operations.ExplainExclusion(query=query, key=key, options=chosen, similar=similar, vector=vector)
        return self.run(excluded).why_not

    def compare(
        self,
        claim: "QueryText",
        keys: Iterable[str] = (),
        tau: float | None = None,
        *,
        sources: "SomeTexts" = (),
    ) -> "Evidence":
        """Return what `sources` and stored documents cover of a claim, a text or a `Document`; see `Reranker.evidence`.

        Each source, a text or a `Document`, has its index as the key. Raises UnknownKey for a key without a document,
        UsageError for one that two have.
        """
        found: Evidence = self._run_named("compare", claim=claim, sources=sources, keys=keys, tau=tau)
        return found

    def changes(self, old: "QueryText", new: "QueryText", tau: float | None = None) -> "TextChanges":
        """Return the changes between two versions, texts or a `Document` each; see `Reranker.changes`."""
        found: TextChanges = self._run_named("changes", old=old, new=new, tau=tau)
        return found

    def prove(
        self,
        path: "str | Path",
        query: "QueryText | None" = None,
        options: SearchOptions | None = None,
        *,
        similar: str | None = None,
        vector: Iterable[float] | None = None,
        progress: Progress = silent,
        **fields: Any,
    ) -> "Ranking":
        """Search as `search` does, or as `similar`, and write a proof of the result to a file, which `verify` verifies.

        `similar`: instead of a `query`, the key of a stored document. The ranking must be `wmd` or `pwmd` alone, and
        the search cover the whole collection; see the manual's page `proofs`. `progress` is called as documents are
        excluded. The file is replaced atomically. Raises UsageError for other searches, UnknownKey, and IndexerError
        if the file cannot be written.
        """
        chosen: dict[str, Any] = {"path": path, "query": query, "similar": similar, "vector": vector}
        chosen["options"] = SearchOptions.of(options, fields)
        ranking: Ranking = self._run_named("prove", progress, **chosen)
        return ranking

    def digest(self, rank: str | None = None, gamma: float | None = None) -> str:
        """Return the digest of all documents' keys, bags and vectors, by a ranking, that proofs of it have.

        `rank`: "wmd" or "pwmd" with options, by default with the collection's gamma and weights. Reads all documents.
        """
        found: str = self._run_named("digest", rank=rank, gamma=gamma).digest
        return found

    def watch(
        self,
        name: str,
        query: "QueryText",
        within: float | str,
        *,
        rank: str | None = None,
        gamma: float | None = None,
        where: Where | None = None,
    ) -> "Watch":
        """Add a watch: each document that is added or changed later, within a distance of a query, yields an event.

        Events are the hits of an exact search in the state of their transaction, up to rounding at the limit. A watch
        of the same `name` is replaced. `query`: a text or a `Document`, as in `search`. `within`: the largest distance,
        or a share of the documents that are there, such as "1%", which becomes the distance of the last of so many
        nearest ones. `rank`: a distance with options, by default WMD with the collection's gamma and weights. `where`:
        only documents that pass this filter. A collection has at most 10,000 watches, whose names, queries and filters
        have at most 20,000,000 characters together, as JSON. Raises UsageError for other rankings and other invalid
        arguments, and while the collection's language is still to be found, NoKnownWords, and LockedError while another
        process writes.
        """
        options = {"name": name, "query": query, "within": within, "rank": rank, "gamma": gamma, "where": where}
        made: Watch = self._run_named("watch", **options)
        return made

    def unwatch(self, name: str) -> None:
        """Remove a watch; its events stay. Raises UnknownKey, and LockedError while another process writes."""
        self._run_named("unwatch", name=name)

    def watches(self) -> "list[Watch]":
        """Return all watches, by name."""
        return [*self._run_named("watches").watches]

    def events(self, after: int = 0, limit: int = 1000) -> "list[Event]":
        """Return the first events of watches with a number above `after`, at most `limit`, in their order."""
        return [*self._run_named("events", after=after, limit=limit).events]

    def forget_events(self, before: int) -> int:
        """Delete the events with a number below `before`, and return how many there were; numbers are not reused.

        Raises LockedError while another process writes.
        """
        count: int = self._run_named("forget-events", before=before).forgotten
        return count

    def _run_named(self, name: str, progress: Progress = silent, /, **options: Any) -> Any:
        """Return the answer to an operation of a plug-in; PlugInError if there is none of that name."""
        kind: Any = operations.operation_named(name)
        return self.run(kind(**options), progress=progress)

    def pairs(
        self, within: float | None = None, k: int | None = None, *, progress: Progress = silent, **fields: Any
    ) -> "Pairs":
        """Find all pairs of documents whose distance is at most `within`, or the `k` nearest of them, exactly.

        Further keywords are the fields of `PairOptions`. `rank`: "wmd" or "pwmd" with options, by default with the
        collection's gamma and word weights; or a sum, of which the larger total with either document as the query
        counts, by one search for each document. `gamma` and `where` as in `SearchOptions`. `unknown`: words without a
        vector are "ignored", or "far" from all other words. `progress` is called after each document; an interrupted
        run by wmd or pwmd continues after the last of these at the next call with the same arguments, unless it is not
        `resumed`. Raises UsageError for other rankings, and without `within` and `k`; a server needs `k`.
        """
        return self.run(operations.FindPairs(search=PairOptions(within=within, k=k, **fields)), progress=progress)

    def dedupe(
        self,
        within: float | str,
        *,
        remove: bool = False,
        confirmed: bool = False,
        dry_run: bool = False,
        progress: Progress = silent,
        **fields: Any,
    ) -> "Deduplication":
        """Choose documents to keep so that every other one is `within` a distance of a kept one, and no two kept are.

        Further keywords are the fields of `DedupeOptions`. Documents are visited in the order `keep`: "first" (as they
        were indexed), "longest" (by counted words), or "oldest" or "newest" by the field `date`, or another one
        ("newest:year"); a document is kept unless a kept one is within the distance. Documents that pass the filter
        `keep_where` come before all others, documents without the field last, equal ones as they were indexed. The rest
        is as in `pairs`; `explained`: with the flows of each removed document. `within`: also a share of all pairs,
        such as "0.01%": the distance of the last of so many nearest ones. `unknown`: None is "far" for WMD with weights
        that do not come from vectors, without flows, else "ignored". Documents that differ in a negation, a number, a
        quantity, a date or a limiting word are no copies, unless `differing` ones are; see `Deduplication.differing`.
        `remove`: remove the others, more than half only if `confirmed`, and compare the rest again until no two are
        near, since weights depend on all documents; with `dry_run`, remove nothing. CollectionError, and no more is
        removed, if the collection was changed meanwhile.
        """
        search = DedupeOptions(within=within, **fields)
        return operations.deduplicated(self, search, progress, remove=remove, confirmed=confirmed, dry_run=dry_run)

    def _checked_writable(self) -> Any:
        """Make changes by others visible; raise the errors of a removal: a taken lock, unusable settings."""
        raise UsageError("a server removes no near duplicates: run `dedupe` where the collection is")
