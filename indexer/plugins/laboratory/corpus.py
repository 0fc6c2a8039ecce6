"""The documents of an experiment, its queries, judgments and candidates: read from a collection and from files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from moverank.indexer.errors import CollectionError, UsageError
from moverank.indexer.plugins.laboratory.distances import RowCache, results_directory
from moverank.indexer.plugins.laboratory.evaluating import JudgedQueries
from moverank.indexer.plugins.laboratory.trial import Trial
from moverank.indexer.reading.inputs.judgments import read_candidates
from moverank.indexer.reading.inputs.queries import read_queries
from moverank.indexer.reranking.texts import Texts
from moverank.indexer.reranking.whole_corpus import CountedCollection, WholeCorpus
from moverank.indexer.search.counted_query import RankedCounts, TextCounter, part_counts
from moverank.indexer.search.priors import prior_fields
from moverank.indexer.search.query import Prior
from moverank.indexer.values.queries import QueryText
from moverank.indexer.values.ranking_spec import RankingSpec
from moverank.indexer.values.search_options import Progress
from moverank.rerank.evaluation.measures import Judgments


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """The documents of one state of a collection, and queries over the same words.

    `splits` are each key's part of a split, `priors` the values of numeric fields.
    """

    documents: Texts
    queries: Texts
    splits: Mapping[str, str]
    priors: Mapping[str, Prior]


def corpus_of(
    collection: CountedCollection, queries: Sequence[tuple[str, QueryText]] = (), fields: Iterable[str] = ()
) -> Corpus:
    """Read every document of a collection that has a word, and count the words of `queries` (id, text or record).

    The numbers in `fields` are read, too. Raises CollectionError if the collection has no word vectors, or no document
    with a word, and UsageError if no document has a number in one of the fields.
    """
    counter, counted = _counted_queries(collection, queries)
    whole = WholeCorpus.of(collection, set(counter.words), fields)
    if not len(whole.texts):
        raise CollectionError("there is no document with a word in the collection: index some first")
    return Corpus(whole.texts, _query_texts(queries, counter, counted, whole.texts), whole.splits, whole.priors)


def _counted_queries(
    collection: CountedCollection, queries: Sequence[tuple[str, QueryText]]
) -> tuple[TextCounter, list[RankedCounts]]:
    counter = TextCounter(collection.settings.tokenizer)
    return counter, counter.count(text for _, text in queries)


def _query_texts(
    queries: Sequence[tuple[str, QueryText]], counter: TextCounter, counted: Sequence[RankedCounts], documents: Texts
) -> Texts:
    """Return queries over the vocabulary of the documents, which has their words."""
    counts = part_counts(counted, counter.places(documents.vocabulary.words))
    names = tuple(id_ for id_, _ in queries)
    return Texts(names, counts, documents.vocabulary, title_weight=documents.title_weight)


@dataclass(frozen=True, slots=True)
class QueryFiles:
    """The queries of an experiment and their candidates, read from files."""

    texts: Sequence[tuple[str, QueryText]] | None = None
    """The texts of the queries by id; None: the queries are documents, named by their keys."""
    candidates: Mapping[str, Sequence[str]] | None = None
    """The keys of each query's candidates, which are ranked instead of all documents; None: all."""
    scores: Mapping[str, Mapping[str, float]] | None = None
    """The scores that the engine gave to candidates, by query and key; None: it gave none."""
    without_self: bool = False
    """Leave the document with a query's key out of its results; always so if the queries are documents."""
    prefix: str | None = None
    """The prefix of the keys, from `index --prefix`."""

    @classmethod
    def of(cls, given: JudgedQueries) -> "QueryFiles":
        """Read the files that are given; ids in the candidates get the prefix. Raises ReadError."""
        texts = None if given.queries is None else list(read_queries(given.queries))
        files, candidates = cls(texts, None, None, given.without_self, given.prefix), given.candidates
        if candidates is None:
            return files
        keys, scores = dict[str, Sequence[str]](), dict[str, Mapping[str, float]]()
        for query, found in read_candidates(candidates).items():
            of_query = files.key_of_query(query)
            keys[of_query] = [files.key(key) for key in found.keys]
            if found.scores is not None:
                scored = zip(keys[of_query], found.scores, strict=True)
                scores[of_query] = {key: score for key, score in scored if score is not None}
        return replace(files, candidates=keys, scores=scores or None)

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
        collection: CountedCollection,
        several: Sequence[Judgments],
        rankings: Iterable[RankingSpec | None],
        progress: Progress,
    ) -> Trial:
        """Return the documents of a collection, and the queries of `several` judgments that exist.

        The numeric fields that `rankings` name are read. `progress` is called after each step. Raises UsageError if
        the collection has none of the documents or none of the queries of the first judgments, or no number in one of
        the fields, and CollectionError.
        """
        judged = dict.fromkeys(query for judgments in several for query in judgments.queries)
        fields = prior_fields(ranking for ranking in rankings if ranking)
        corpus = corpus_of(collection, [each for each in self.texts or () if each[0] in judged], fields)
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
            RowCache(results_directory(directory)),
            progress,
            priors=corpus.priors,
            directory=directory,
            candidates=self.candidates,
            scores=self.scores,
        )
        _check_found(several[0], trial, self.texts)
        return trial


def missing_notes(judgments: Judgments, trial: Trial) -> list[str]:
    """Return notes on judged queries and relevant documents that do not exist."""
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
    """Return a sentence: none of `ids` is a key, with both spellings, and a remedy."""
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
