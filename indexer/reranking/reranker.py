"""`Reranker`, the second stage of another engine: its candidates, ranked by the code of a search, in memory."""

import logging
import time
from collections.abc import Collection as Words
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import UsageError
from moverank.indexer.operations.operation_registry import operation_named
from moverank.indexer.reranking.pool import SearchPool
from moverank.indexer.reranking.texts import (
    Candidates,
    Text,
    Texts,
    candidate_documents,
    document_of_text,
    query_and_candidates,
)
from moverank.indexer.search.answer_size import AnswerSize
from moverank.indexer.search.candidate_rankings import Candidate, ranking_in_given_order, ranking_of_candidates
from moverank.indexer.search.counted_query import RankedCounts, TextCounter
from moverank.indexer.search.document_frequencies import DocumentFrequencies
from moverank.indexer.search.engine_scores import engine_scores, numbers_of
from moverank.indexer.search.locating import Locator
from moverank.indexer.search.occurrences import occurrences, spans_by_word
from moverank.indexer.search.phases import Search
from moverank.indexer.search.query import Prior, Query, QueryWords
from moverank.indexer.search.query_parser import ignored_words
from moverank.indexer.search.view import View
from moverank.indexer.values.arguments import items, place, shown, whole_number
from moverank.indexer.values.documents import TITLE_WEIGHT, Document
from moverank.indexer.values.queries import Scores
from moverank.indexer.values.ranked_texts import whole_texts
from moverank.indexer.values.ranking_spec import PRIOR, VECTOR, RankingSpec, Weights, resolve
from moverank.indexer.values.search_options import SearchOptions
from moverank.indexer.values.settings import AUTO_EMBEDDING, Settings, check_settings
from moverank.indexer.values.word_factors import (
    OF_VECTORS,
    CorpusVocabulary,
    WordFactors,
    check_own_weights,
    factors_of_vectors,
)
from moverank.rerank.errors import NoKnownWords
from moverank.rerank.options import did_you_mean
from moverank.rerank.ranking import AUTO_RANK, Ranking
from moverank.rerank.runtime.parallel import map_ahead
from moverank.rerank.runtime.thread_pool import single_threaded, single_threaded_blas
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.languages import DEFAULT, language_of
from moverank.rerank.words.segmentation import AUTO
from moverank.rerank.words.tokenizer import AUTO_WORDS, StopWords

if TYPE_CHECKING:
    from moverank.indexer.collection import Collection
    from moverank.rerank.plugins.evidence.evidence import Evidence
    from moverank.rerank.plugins.evidence.text_changes import TextChanges

_log = logging.getLogger("moverank")

_FEW = 1000
"""For at most this many candidates one core is used: float32 bounds then have the same bits in every batch."""

_MEND = "Reranker.load(FILE) reads word vectors from a file"
_NO_VECTOR = "no word of the query has a vector in the embedding"


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A query and its candidates, with data that a batch computes once."""

    text: Document
    documents: Sequence[Document]
    ranking: RankingSpec
    k: int
    query: RankedCounts
    candidates: Sequence[RankedCounts]
    scores: Prior | None
    priors: dict[str, Prior]


class Reranker:
    """Ranks the candidates of any other engine by the default ranking of a collection, or by any ranking of a search.

    `embedding` holds the word vectors; None: there are none, and BM25 with stems ranks. `learn` learns them from texts,
    `load` reads them from a file or a collection. `language` is the ISO code of the texts' language, as in `Settings`:
    it has the stop words, and the stems of the default ranking; `segmentation` and `vocabulary` (None: the words of the
    embedding) are also as in `Settings`. `stop_words` are ignored in all texts: "auto" (the language's), "english",
    "none", or a list of words. `rank` is the default ranking, as "wmd" or "wmd+0.5*bm25"; the manual's page `ranking`
    has the grammar. `gamma` is the default sensitivity to the rank of a thread's posts, `weights` are the default
    weights of words, "tf", "tfidf", "norm" or "model", and `title_weight` is how many times the words of a title count.
    All defaults are as in `Settings`. `frequencies` belong to the candidates' collection, for idf, BM25 and the scorer
    tfidf; None: the candidates' own.

    It may be used by several threads at a time, and pickled, and needs no file. Raises UsageError for invalid options,
    and for a ranking, a passage, `evidence` or `changes` without the word vectors that it compares words by.
    """

    def __init__(
        self,
        embedding: Embedding | None = None,
        stop_words: StopWords = AUTO_WORDS,
        *,
        language: str = DEFAULT,
        segmentation: str = AUTO,
        vocabulary: Words[str] | None = None,
        phrases: Words[str] | None = None,
        rank: str = AUTO_RANK,
        gamma: float = 0.0,
        weights: Weights = "tf",
        title_weight: int = TITLE_WEIGHT,
        frequencies: DocumentFrequencies | None = None,
    ) -> None:
        own = Settings(
            AUTO_EMBEDDING if embedding is None else "given",
            language=language_of(language).code,
            segmentation=segmentation,
            vocabulary=vocabulary,
            phrases=phrases,
            stop_words=stop_words,
            title_weight=title_weight,
            weights=weights,
            gamma=gamma,
            rank=rank,
        )
        check_settings(own)
        embedding = Embedding.empty() if embedding is None else embedding
        if not isinstance(embedding, Embedding):
            raise UsageError(f"the word vectors must be an Embedding, see `Embedding.of`, not {shown(embedding)}")
        if own.lacks_vocabulary:
            own = replace(own, vocabulary=embedding.words)
        if own.lacks_phrases:
            own = replace(own, phrases=embedding.phrases(own.language))
        if not isinstance(frequencies, DocumentFrequencies | None):
            raise UsageError(f"frequencies must be DocumentFrequencies or None, not {shown(frequencies)}")
        self._embedding, self._frequencies, self._title_weight = embedding, frequencies, title_weight
        self._tokenizer, self._own = own.tokenizer, own.ranking
        self._resolved(None, None)
        check_own_weights(self._own, embedding)

    @classmethod
    def learn(cls, texts: Iterable[Text] | Candidates, language: str = DEFAULT, **options: Any) -> "Reranker":
        """Learn word vectors and document frequencies from texts, as a collection of these texts does by default.

        The texts are given as candidates are, `language` is that of the texts, "auto" to detect it, and `options` are
        other `Settings` of a collection. With fewer than 50 texts, which is reported in the log, the default ranking is
        BM25 with stems. A collection is made of the texts in a temporary directory. Raises UsageError for other texts
        and for invalid options, OptionError for an unknown language.
        """
        if unknown := sorted(options.keys() - {*Settings.__slots__}):
            raise UsageError(f"there is no setting {unknown[0]!r}{did_you_mean(unknown[0], Settings.__slots__)}")
        return _learnt(cls, texts, Settings(language=language, **options))

    @classmethod
    def load(cls, source: str | Path, **options: Any) -> "Reranker":
        """Load word vectors from a file or a model's directory, by "gensim:NAME" or "hf:NAME", or from a collection.

        A collection's directory also gives its language, stop words, ranking, gamma, title weight and document
        frequencies. `options` are the constructor's, and override the collection's; for a file also `normalize`, to
        scale vectors to unit length (None: only vectors of a model), and `trust_pickle`. Raises VectorsError and
        CollectionError.
        """
        return _load(cls, source, options)

    @property
    def embedding(self) -> Embedding:
        """Return the word vectors; UsageError if there are none."""
        return self._vectors_for("the property embedding")

    @property
    def ranking(self) -> str:
        """Return the default ranking."""
        return str(resolve(None, None, self._own))

    def rank(
        self,
        query: Text,
        candidates: Candidates,
        k: int | None = None,
        scores: Scores | None = None,
        rank: str | None = None,
        gamma: float | None = None,
        *,
        highlight: bool = False,
        passage: int | None = None,
    ) -> Ranking:
        """Rank all candidates, the nearest to `query` first, certified among themselves.

        Candidates and query are texts, records such as `{"title": ..., "text": ...}` or a thread's, or a `Document`; a
        hit's key is the key in a mapping, a record or a document, else the index ("0", "1", ...), which is always in
        `Hit.candidate`. The first `k` hits (None: all) are exact; later hits may have been pruned: they have a lower
        bound instead, `exact=False`. Candidates without a known word, also None and NaN, come last, and are `wordless`.
        Scores fall strictly: 1 / (1 + x) of the distance or total x; a sum of distances is not divided by its unit.
        `scores` are the engine's, for rankings with the term `vector`. `rank` and `gamma` replace the defaults.
        `highlight`: the first `k` hits have the places of the query's words and of words near to them; `passage`: and
        the window of up to so many words that is nearest to the query; see `SearchOptions`.

        Raises NoKnownWords if the query has no word to rank by, and UsageError for invalid arguments.
        """
        own = None if scores is None else [scores]
        found = self.rank_many([query], [candidates], k, own, rank, gamma, highlight=highlight, passage=passage)[0]
        if found.problem:
            raise NoKnownWords(found.problem)
        return found

    def rank_many(
        self,
        queries: Sequence[Text],
        candidates: Sequence[Candidates],
        k: int | None = None,
        scores: Sequence[Scores | None] | None = None,
        rank: str | None = None,
        gamma: float | None = None,
        *,
        highlight: bool = False,
        passage: int | None = None,
    ) -> list[Ranking]:
        """Rank the `candidates` of each of many queries on all cores, with the results of `rank`.

        A text that several queries have in common is split and looked up once. The ranking of a query without a word
        to rank by has a `problem`, and its candidates in the order given, as wordless. Raises UsageError.
        """
        queries, candidates = list(items("queries", queries)), list(items("candidates", candidates))
        scores = None if scores is None else list(items("scores", scores))
        if len(queries) != len(candidates) or (scores is not None and len(scores) != len(queries)):
            raise UsageError("give candidates, and scores if any, for each query")
        spec, options = self._resolved(rank, gamma), SearchOptions(highlight=highlight, passage=passage)
        if options.passage is not None:
            self._vectors_for("a passage")
        counter = TextCounter(self._tokenizer)
        tasks = [
            self._task(counter, query, some, k, None if scores is None else scores[i], spec)
            for i, (query, some) in enumerate(zip(queries, candidates, strict=True))
        ]
        words = CorpusVocabulary.of(counter.words, self._embedding, [spec.weights])
        with single_threaded_blas():
            if len(tasks) == 1 and len(tasks[0].documents) > _FEW:
                return [self._answer(words, tasks[0], options)]
            if len(tasks) == 1:
                with single_threaded():
                    return [self._answer(words, tasks[0], options)]
            return [found for _, found in map_ahead(lambda task: self._answer(words, task, options), tasks)]

    def evidence(self, claim: Text, sources: Text | Candidates, tau: float | None = None) -> "Evidence":
        """Return what the sources cover of a claim, sentence by sentence: see the manual's page `evidence`.

        The claim and each source are texts, records or a `Document`, as in `rank`; a single source is a text or a
        `Document`. A word is carried to a word of a source at a cost of at most `tau`; None: .6 of the typical cost of
        two words. Raises NoKnownWords if the claim has no word, UsageError and OptionError for invalid arguments.
        """
        vectors, some = self._vectors_for("evidence"), [sources] if isinstance(sources, str | Document) else sources
        documents = candidate_documents(some if isinstance(some, Mapping) else list(items("sources", some)))
        own, compare = document_of_text(claim, "the claim"), operation_named("compare")
        found: Evidence = compare.between(own, documents, self._tokenizer, vectors, tau)
        return found

    def changes(self, old: Text, new: Text, tau: float | None = None) -> "TextChanges":
        """Return the changes between two versions of a text: its kept, moved, changed, new and dropped units.

        The versions are texts, records or a `Document`. `tau` and errors are as in `evidence`.
        """
        versions = document_of_text(old, "the old version"), document_of_text(new, "the new version")
        vectors, compare = self._vectors_for("a comparison of versions"), operation_named("changes")
        found: TextChanges = compare.between(*versions, self._tokenizer, vectors, tau)
        return found

    def _resolved(self, rank: str | None, gamma: float | None) -> RankingSpec:
        """Return the ranking that is specified, None for the default one; UsageError if it lacks word vectors."""
        spec = resolve(rank, gamma, self._own)
        if spec.needs_word_vectors:
            self._vectors_for(f"the ranking {spec}")
        return spec

    def _vectors_for(self, what: str) -> Embedding:
        """Return the word vectors; UsageError says that they are needed for `what` if there are none."""
        if not self._embedding.words:
            raise UsageError(
                f"{what} needs word vectors, which this reranker lacks: make one by Reranker.learn(texts) or "
                "Reranker.load(FILE), on the command line by -i COLLECTION or --embedding FILE"
            )
        return self._embedding

    def _task(
        self,
        counter: TextCounter,
        query: Text,
        candidates: Candidates,
        k: int | None,
        scores: Scores | None,
        spec: RankingSpec,
    ) -> _Task:
        k = None if k is None else whole_number("k", k)
        if not isinstance(candidates, Mapping):
            candidates = list(items("candidates", candidates))
        query_record, documents = document_of_text(query, "the query"), candidate_documents(candidates)
        raw = list(candidates.values()) if isinstance(candidates, Mapping) else candidates
        fields = [dict(term.options)["field"] for term in spec.terms if term.name == PRIOR]
        words, *counted = counter.count([query_record, *documents])
        ids = np.arange(1, 1 + len(documents))
        given = engine_scores(scores, [document.key for document in documents], ids)
        if given is None and any(term.name == VECTOR for term in spec.terms):
            raise UsageError("the ranking has the term vector: give the scores of the engine")
        priors = {field: _prior(raw, field, ids) for field in fields}
        return _Task(query_record, documents, spec, k or len(documents), words, counted, given, priors)

    def _answer(self, words: CorpusVocabulary, task: _Task, options: SearchOptions) -> Ranking:
        began = time.monotonic()
        own, pool = query_and_candidates(words, task.query, task.candidates, self._title_weight)
        searched = SearchPool(_with_words(pool), frequencies=self._frequencies)
        shown = [Candidate(i, one.key, one.title, one.label, one.metadata) for i, one in enumerate(task.documents)]
        k = max(1, min(task.k, len(shown)))
        nothing = QueryWords.none(self._embedding.dim)
        plain = Query(
            nothing, k, None, task.ranking, bounded=False, priors=task.priors, engine_scores=task.scores, whole=True
        )
        query = searched.with_words(plain, own, 0)
        if query is None:
            found = ranking_in_given_order(shown, _NO_VECTOR if plain.needs_bag else "the query has no word")
        else:
            outcome = Search(searched.view, query).run()
            found = ranking_of_candidates(outcome, query, {one.index + 1: [one] for one in shown})
            found = self._located(found, task, query, options, pool.vocabulary, searched.view.factors)
        unknown, ignored = _without_effect(own, pool, task.ranking, searched.view)
        return replace(
            found,
            ranked_by=str(task.ranking),
            seconds=time.monotonic() - began,
            unknown_words=unknown if self._embedding.words else (),
            ignored_words=ignored,
        )

    def _located(
        self,
        ranking: Ranking,
        task: _Task,
        query: Query,
        options: SearchOptions,
        vocabulary: CorpusVocabulary,
        factors: WordFactors,
    ) -> Ranking:
        """Return the ranking with the details that `options` request for its first hits, which are exact."""
        if not options.is_located:
            return ranking
        ids = {word: id_ for id_, word in enumerate(vocabulary.words, start=1)}

        def factors_of(words: Sequence[str]) -> NDArray[np.float64] | None:  # of words that may not be counted, too
            weights = query.ranking.weights
            if weights in OF_VECTORS:
                return factors_of_vectors(weights, words, self._embedding)
            return factors.of(weights, np.array([ids.get(word, 0) for word in words], np.int64), words)

        spans = cache(lambda: spans_by_word(occurrences(whole_texts(task.text), self._tokenizer)))
        given = (options, self._tokenizer, self._embedding, factors_of, AnswerSize(None))
        first = [hit for hit in ranking.hits[: query.k] if not hit.wordless]
        texts = [whole_texts(task.documents[hit.candidate or 0]) for hit in first]
        query = replace(query, words=replace(query.words, spans=spans))
        located = Locator(query, *given).located(first, texts)
        return replace(ranking, hits=(*located, *ranking.hits[len(first) :]))


def _with_words(pool: Texts) -> Texts:
    """Return the texts of `pool` that have a word; ids are their rows plus 1."""
    rows = np.flatnonzero(np.diff(pool.counts.starts))
    ids = tuple((rows + 1).tolist())
    return replace(pool.take(rows), ids=ids, total=len(pool))


def _without_effect(
    own: Texts, pool: Texts, ranking: RankingSpec, view: View
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a query, the only text of `own`, without a vector, and the words without any effect."""
    vocabulary = own.vocabulary
    ids = np.unique(own.counts.words).tolist()
    texts = sorted(vocabulary.words[id_] for id_ in ids)
    known = {vocabulary.words[id_] for id_ in ids if vocabulary.known[id_]}
    found = {vocabulary.words[id_] for id_ in np.intersect1d(own.counts.words, pool.counts.words).tolist()}
    unknown = tuple(text for text in texts if text not in known)
    return unknown, ignored_words(texts, known, ranking, found, view.scores)


def _prior(candidates: Sequence[Text | float | None], field: str, ids: NDArray[np.int64]) -> Prior:
    """Return the numbers in a field of the candidates; UsageError if none has one."""
    fields = [one.metadata if isinstance(one, Document) else one for one in candidates]
    values = [one.get(field) if isinstance(one, Mapping) else None for one in fields]
    numbers = numbers_of([value if isinstance(value, int | float) else None for value in values], ids, field)
    if not len(numbers.ids):
        raise UsageError(f"no candidate has a number in the field {field!r}")
    return numbers


def _learnt(make: type[Reranker], texts: Iterable[Text] | Candidates, settings: Settings) -> Reranker:
    """Return the reranker of a collection of `texts`; see `Reranker.learn`."""
    from moverank.indexer.collection import Collection  # here, as in `_load`
    from moverank.indexer.indexing.training import few_texts

    documents = candidate_documents(texts if isinstance(texts, Mapping) else list(items("texts", texts)))
    with (
        TemporaryDirectory(prefix="moverank-") as directory,
        Collection.create(Path(directory) / "texts.index", settings) as collection,
    ):
        collection.index(replace(one, key=str(i)) for i, one in enumerate(documents))
        if not collection.has_vectors:
            _log.warning("the texts have too few words to learn word vectors from; %s", _MEND)
            return make(None, **stored_options(collection.settings))
        if few := few_texts(len(collection), collection.settings):
            _log.warning("%s; %s", few, _MEND)
        return _of_collection(make, collection, collection.embedding.in_memory(), {})


def _load(make: type[Reranker], source: str | Path, options: Mapping[str, Any]) -> Reranker:
    """Return `make(embedding, **options)` with the word vectors of a file or collection; see `Reranker.load`."""
    from moverank.indexer.collection import Collection  # here: a reranker of given vectors needs neither
    from moverank.indexer.vectors.downloading import is_download
    from moverank.indexer.vectors.importing import import_vectors

    path = str(place("the source of word vectors", source))
    options = {name: value for name, value in options.items() if value is not None}
    if not is_download(path) and Collection.exists(path):
        with Collection.open(path) as collection:
            return _of_collection(make, collection, collection.embedding, options)
    given = dict(options)
    normalize, trust = given.pop("normalize", None), bool(given.pop("trust_pickle", False))
    unit, language = None if normalize is None else bool(normalize), language_of(given.get("language", DEFAULT)).code
    with TemporaryDirectory(prefix="moverank-") as directory:
        vectors = Path(directory) / "vectors"
        imported = import_vectors(path, vectors, normalize=unit, language=language, trust_pickle=trust)
        embedding = imported.in_memory()
    return make(embedding, **given)


def _of_collection(
    make: type[Reranker], collection: "Collection", embedding: Embedding, options: Mapping[str, Any]
) -> Reranker:
    stored = stored_options(collection.settings)
    if (language := options.get("language")) is not None and language_of(language).code != stored["language"]:
        raise UsageError(
            f"the collection has the language {stored['language']!r}, not {language!r}: leave it out, or name a file "
            "of word vectors"
        )
    ranking = resolve(options.get("rank"), None, collection.settings.ranking)
    if "frequencies" not in options:
        stored["frequencies"] = collection.document_frequencies(ranking.rules)
    return make(embedding, **{**stored, **options})


def stored_options(own: Settings) -> dict[str, Any]:
    """Return the options of a `Reranker` that weights texts as a collection with these settings does."""
    return {
        "language": own.language,
        "segmentation": own.segmentation,
        "vocabulary": own.vocabulary,
        "phrases": own.phrases or "",
        "stop_words": own.stop_words,
        "rank": own.specification,
        "gamma": own.gamma,
        "weights": own.weights,
        "title_weight": own.title_weight,
    }
