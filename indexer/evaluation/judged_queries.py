"""Judged queries: from the files of an experiment to the documents, queries and candidates of a collection."""

from collections.abc import Collection as Some
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from moverank.indexer.cluster.cluster import Cluster
from moverank.indexer.collection import Collection
from moverank.indexer.errors import UsageError
from moverank.indexer.evaluation.cache_directory import cache_directory
from moverank.indexer.evaluation.corpus import corpus_of
from moverank.indexer.evaluation.distance_cache import DistanceCache
from moverank.indexer.evaluation.trial import Trial
from moverank.indexer.progress import Progress
from moverank.indexer.ranked_texts import QueryText
from moverank.indexer.ranking_spec import RankingSpec
from moverank.indexer.readers.judgments import read_candidates
from moverank.indexer.readers.queries import read_queries
from moverank.indexer.search.priors import prior_fields, read_prior
from moverank.indexer.search.query import Prior
from moverank.rerank.evaluation.judgments import Judgments


@dataclass(frozen=True, slots=True)
class QueryFiles:
    """Queries and their candidates, as files have them.

    `texts` are the texts of queries by id; None: queries are documents, named by their keys. `candidates` are the keys
    of each query's candidates, which are ranked instead of all documents; None: all. `scores` are those that the engine
    gave to candidates; None if it gave none. `without_self`: leave the document with a query's key out of its results;
    always done if documents are the queries. `prefix` is what `index --prefix` put in front of the keys.
    """

    texts: Sequence[tuple[str, QueryText]] | None = None
    candidates: Mapping[str, Sequence[str]] | None = None
    scores: Mapping[str, Mapping[str, float]] | None = None
    without_self: bool = False
    prefix: str | None = None

    @classmethod
    def read(
        cls, queries: str | None, candidates: str | None, *, without_self: bool = False, prefix: str | None = None
    ) -> "QueryFiles":
        """Read the files `queries` and `candidates`; ids in the latter get the `prefix`. Raises ReadError."""
        files = cls(None if queries is None else list(read_queries(queries)), None, None, without_self, prefix)
        if candidates is None:
            return files
        keys, scores = dict[str, Sequence[str]](), dict[str, Mapping[str, float]]()
        for query, found in read_candidates(candidates).items():
            of_query = files.key_of_query(query)
            keys[of_query] = [files.key(key) for key in found.keys]
            if found.scores is not None:
                given = zip(keys[of_query], found.scores, strict=True)
                scores[of_query] = {key: score for key, score in given if score is not None}
        return cls(files.texts, keys, scores or None, without_self, prefix)

    def key(self, id_: str) -> str:
        """Return the key of the document that a file names, which has the prefix."""
        return id_ if not self.prefix or id_.startswith(f"{self.prefix}/") else f"{self.prefix}/{id_}"

    def key_of_query(self, id_: str) -> str:
        """Return the id of a query, which is a key unless queries are texts."""
        return self.key(id_) if self.texts is None else id_

    def judgments(self, grades: Mapping[str, Mapping[str, int]]) -> Judgments:
        """Return judgments by the keys of the collection. Raises EvaluationError if no document is relevant."""
        return Judgments(
            {
                self.key_of_query(query): {self.key(id_): grade for id_, grade in of_query.items()}
                for query, of_query in grades.items()
            }
        )

    def trial(
        self,
        collection: Collection | Cluster,
        several: Sequence[Judgments],
        rankings: Iterable[RankingSpec | None],
        progress: Progress,
    ) -> Trial:
        """Return the documents of a collection, and the queries of `several` judgments that there are.

        The numeric fields that `rankings` name are read. `progress` is called after each step. Raises UsageError if
        the collection has none of the documents or none of the queries of the first judgments, or no number in one of
        the fields, and CollectionError.
        """
        judged = dict.fromkeys(query for judgments in several for query in judgments.queries)
        corpus = corpus_of(collection, [each for each in self.texts or () if each[0] in judged])
        pool, directory = corpus.documents, collection.directory
        queries = corpus.queries
        if self.texts is None:
            queries = pool.take([pool.row_of[key] for key in judged if key in pool.row_of])
        own_row = pool.row_of if self.texts is None or self.without_self else {}
        own_rows = [own_row.get(self.key(id_), -1) for id_ in queries.keys]
        trial = Trial(
            pool,
            queries,
            np.array(own_rows, np.int64),
            DistanceCache(cache_directory(directory)),
            progress,
            priors=_priors(collection, prior_fields(ranking for ranking in rankings if ranking)),
            directory=directory,
            candidates=self.candidates,
            scores=self.scores,
        )
        _check_found(several[0], trial, self.texts)
        return trial


def missing_notes(judgments: Judgments, trial: Trial) -> list[str]:
    """Return notes on judged queries and relevant documents that there are not."""
    notes, queries = [], judgments.queries
    missing = [query for query in queries if query not in trial.queries.row_of]
    if missing:
        notes.append(
            f"{len(missing)} of {len(queries)} judged queries are not among the queries and count as 0, {missing[0]!r} "
            "first"
        )
    relevant = _relevant(judgments)
    lost = relevant - trial.pool.row_of.keys()
    if lost:
        notes.append(
            f"{len(lost)} of {len(relevant)} relevant documents are not in the collection, or have no word, and are "
            f"never found, {min(lost)!r} first"
        )
    return notes


def _relevant(judgments: Judgments) -> set[str]:
    return {key for grades in judgments.grades.values() for key, grade in grades.items() if grade > 0}


def _check_found(judgments: Judgments, trial: Trial, texts: Sequence[tuple[str, QueryText]] | None) -> None:
    """Raise UsageError unless a relevant document is in the collection, and a judged query is among the queries."""
    keys, relevant, queries = trial.pool.keys, sorted(_relevant(judgments)), judgments.queries
    if not any(key in trial.pool.row_of for key in relevant):
        raise UsageError(_no_match("relevant documents is in the collection", relevant, keys))
    if any(query in trial.queries.row_of for query in queries):
        return
    if texts is None:
        remedy = "; if the queries are texts, name their file by --queries"
        raise UsageError(_no_match("judged queries is the key of a document", queries, keys) + remedy)
    ids = [id_ for id_, _ in texts]
    raise UsageError(
        f"none of the {len(queries)} judged queries has a text: the judgments have {queries[0]!r}, the file of queries "
        f"has {ids[0]!r}: both must have the same ids"
    )


def _no_match(what: str, ids: Sequence[str], keys: Sequence[str]) -> str:
    """Return that none of `ids` is a key, in both spellings, and what may help."""
    known = set(ids)
    for key in keys:
        rest = key
        while "/" in rest:
            rest = rest.partition("/")[2]
            if rest in known:
                prefix = key.removesuffix(f"/{rest}")
                return _sentence(what, ids, rest, key, f"--prefix {prefix} puts {prefix}/ in front of the ids")
    own = set(keys)
    for id_ in ids:
        if id_.partition("/")[2] in own:
            return _sentence(what, ids, id_, id_.partition("/")[2], f"remove {id_.partition('/')[0]}/ from the ids")
    remedy = "these may be the judgments of another collection; --prefix NAME puts NAME/ in front of their ids"
    return _sentence(what, ids, ids[0], keys[0], remedy)


def _sentence(what: str, ids: Sequence[str], id_: str, key: str, remedy: str) -> str:
    return f"none of the {len(ids)} {what}: the judgments have {id_!r}, the collection has {key!r}: {remedy}"


def _priors(collection: Collection | Cluster, fields: Some[str]) -> dict[str, Prior]:
    """Return the values of numeric fields; UsageError if no document has a number in one of them."""
    if isinstance(collection, Cluster):
        return dict(collection.documents_of_shards(fields=list(fields)).priors) if fields else {}
    with collection.reading() as reader:
        return {name: read_prior(reader, name) for name in fields}
