"""The estimators: scikit-learn's own checks, and its neighbours over distances computed by brute force."""

import gzip
import json
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from moverank import Embedding, RerankError
from moverank.rerank.bags.bag import Bag
from tests import naive

pytest.importorskip("sklearn", reason="needs scikit-learn, of the extra sklearn")

from sklearn.base import BaseEstimator, clone
from sklearn.cluster import DBSCAN
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.manifold import TSNE
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.utils.estimator_checks import parametrize_with_checks

from moverank.rerank.plugins.adapters.scikit_learn import WMDClassifier, WMDTransformer

RNG = np.random.default_rng(17)
WORDS = [f"word{i}" for i in range(30)]
VECTORS = RNG.standard_normal((30, 4)).astype(np.float32)
EMBEDDING = Embedding.of(WORDS, VECTORS)
COUNTS = np.array([RNG.multinomial(RNG.integers(3, 12), np.ones(30) / 30) for _ in range(24)])
LABELS = np.array(["red", "green", "blue"])[RNG.integers(0, 3, 24)]
TEXTS = [" ".join(np.repeat(WORDS, row).tolist()) for row in COUNTS]


def _brute_force(rows: NDArray[Any], others: NDArray[Any], vectors: NDArray[Any] = VECTORS) -> NDArray[np.float64]:
    """Return the distances (q, n) of rows of counts, solved by POT one by one."""
    bags, columns = ([Bag.of(np.flatnonzero(row), row[row > 0]) for row in each] for each in (rows, others))
    return np.array([[naive.wmd(bag, vectors[bag.words], one, vectors) for one in columns] for bag in bags])


BRUTE = _brute_force(COUNTS, COUNTS)


@pytest.mark.slow
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        WMDTransformer(),
        WMDTransformer(n_neighbors=3, mode="connectivity"),
        WMDClassifier(),
    ]
)
def test_checks_of_scikit_learn(estimator: BaseEstimator, check: Any) -> None:
    """None of them is expected to fail."""
    check(estimator)


@pytest.mark.slow
def test_the_check_that_needs_an_environment_variable() -> None:
    """It must be set before scipy is imported."""
    program = (
        "from sklearn.utils.estimator_checks import check_array_api_input\n"
        "from moverank.rerank.plugins.adapters.scikit_learn import WMDClassifier, WMDTransformer\n"
        "for one in (WMDTransformer(), WMDClassifier()):\n"
        "    check_array_api_input(type(one).__name__, one, 'numpy', expect_only_array_outputs=False)\n"
    )
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "SCIPY_ARRAY_API": "1"}, check=True)


@pytest.mark.parametrize("made", [{"vectors": VECTORS}, {"embedding": EMBEDDING, "stop_words": frozenset()}])
def test_neighbours_equal_those_of_brute_force(made: dict[str, Any]) -> None:
    data: Any = COUNTS if "vectors" in made else TEXTS
    ours = WMDTransformer(4, **made).fit(data[:20])
    theirs = NearestNeighbors(n_neighbors=4, metric="precomputed").fit(BRUTE[:20, :20])
    for queries, rows in ((data[20:], BRUTE[20:, :20]), (data[:20], BRUTE[:20, :20]), (None, None)):
        distances, neighbours = ours.kneighbors(queries)
        expected, expected_neighbours = theirs.kneighbors(rows)
        assert distances == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert np.array_equal(neighbours, expected_neighbours)
    assert np.array_equal(ours.kneighbors(data[20:], 2, return_distance=False), ours.kneighbors(data[20:], 2)[1])


@pytest.mark.parametrize("sparse", [False, True])
def test_a_graph_has_itself_sorted_distances_and_explicit_zeros(sparse: bool) -> None:
    given = COUNTS[[0, 1, 0, *range(2, 9)]]  # a document twice
    transformer = WMDTransformer(3, vectors=VECTORS)
    graph = transformer.fit_transform(csr_array(given) if sparse else given)
    assert graph.format == "csr"
    assert graph.shape == (10, 10)
    assert np.diff(graph.indptr).tolist() == [4] * 10
    assert all((np.diff(graph.data[start : start + 4]) >= 0).all() for start in graph.indptr[:-1])
    assert np.count_nonzero(graph.data == 0) == 12
    assert graph.indices[:2].tolist() == [0, 2]
    ones = transformer.set_params(mode="connectivity").fit_transform(given)
    assert np.diff(ones.indptr).tolist() == [3] * 10
    assert set(ones.data.tolist()) == {1.0}
    assert transformer.kneighbors_graph().diagonal().sum() == 0
    assert transformer.get_feature_names_out().tolist() == [f"wmdtransformer{i}" for i in range(10)]


def test_without_vectors_words_are_equally_far_apart() -> None:
    data = RNG.random((12, 6)) * (RNG.random((12, 6)) < 0.5) + np.eye(12, 6)
    data[:, 0] += 0.1
    distances, rows = WMDTransformer().fit(data).kneighbors(data, 12)
    expected = manhattan_distances(normalize(data, "l1")) / 2 * np.sqrt(2)
    assert distances == pytest.approx(np.take_along_axis(expected, rows, axis=1), abs=1e-7)


def test_other_estimators_take_the_graph() -> None:
    transformer = WMDTransformer(12, vectors=VECTORS)
    graph = transformer.fit_transform(COUNTS)
    eps = float(np.quantile(BRUTE, 0.15))
    expected = DBSCAN(eps=eps, min_samples=3, metric="precomputed").fit(BRUTE).labels_
    assert np.array_equal(DBSCAN(eps=eps, min_samples=3, metric="precomputed").fit(graph).labels_, expected)
    places = TSNE(metric="precomputed", init="random", perplexity=3, max_iter=250).fit_transform(graph)
    assert np.isfinite(places).all()
    pipeline = make_pipeline(transformer, KNeighborsClassifier(5, metric="precomputed"))
    theirs = KNeighborsClassifier(5, metric="precomputed").fit(BRUTE[:16, :16], LABELS[:16])
    assert np.array_equal(pipeline.fit(COUNTS[:16], LABELS[:16]).predict(COUNTS[16:]), theirs.predict(BRUTE[16:, :16]))


def test_vectorizers_come_first() -> None:
    """A vectorizer with the words of the vectors has a column for each vector."""
    with_texts = WMDTransformer(embedding=EMBEDDING, stop_words=frozenset()).fit_transform(TEXTS)
    counting = make_pipeline(CountVectorizer(vocabulary=WORDS), WMDTransformer(vectors=VECTORS))
    assert counting.fit_transform(TEXTS).toarray() == pytest.approx(with_texts.toarray(), abs=1e-9)
    weighing = make_pipeline(TfidfVectorizer(vocabulary=WORDS), WMDClassifier(n_neighbors=1, vectors=VECTORS)).fit(
        TEXTS, LABELS
    )
    assert weighing.score(TEXTS, LABELS) == 1


def test_votes_of_two_classes_equal_those_of_scikit_learn() -> None:
    labels = LABELS == "red"
    theirs = KNeighborsClassifier(5, metric="precomputed").fit(BRUTE[:16, :16], labels[:16])
    ours = WMDClassifier(5, vectors=VECTORS).fit(COUNTS[:16], labels[:16])
    assert np.array_equal(ours.predict(COUNTS[16:]), theirs.predict(BRUTE[16:, :16]))
    assert ours.predict_proba(COUNTS[16:]) == pytest.approx(theirs.predict_proba(BRUTE[16:, :16]))
    assert ours.score(COUNTS[16:], labels[16:]) == theirs.score(BRUTE[16:, :16], labels[16:])
    assert np.array_equal(ours.predict(None), theirs.predict(None))


def test_without_half_of_the_votes_two_neighbours_are_dropped() -> None:
    """Five neighbours vote 2, 2, 1, and the nearest three 1, 2."""
    positions = np.array([[1.0], [2], [3], [4], [5], [9]])
    documents = np.eye(7)[1:]
    classifier = WMDClassifier(5, vectors=np.concatenate([[[0.0]], positions]))
    classifier.fit(documents, ["c", "a", "a", "b", "b", "b"])
    assert classifier.predict(np.eye(7)[:1]).tolist() == ["a"]
    assert classifier.predict_proba(np.eye(7)[:1]) == pytest.approx(np.array([[2 / 3, 0, 1 / 3]]))
    assert classifier.set_params(n_neighbors=2).predict(np.eye(7)[:1]).tolist() == ["c"]


def test_documents_without_words_are_the_farthest() -> None:
    texts = ["word1 word2", "nothing", "word3", "", "word1 word4"]
    classifier = WMDClassifier(2, embedding=EMBEDDING).fit(texts, [0, 1, 2, 1, 2])
    distances, rows = classifier.kneighbors(texts, 5)
    assert np.isfinite(distances).all()
    assert (np.diff(distances, axis=1) >= 0).all()
    assert rows[:, 3:].tolist() == [[1, 3], [2, 4], [1, 3], [2, 4], [1, 3]]
    assert rows[1, :2].tolist() == [1, 3]
    assert distances[1, :2].tolist() == [0, 0]
    assert (distances[1, 2:] == distances[0, 3]).all()
    assert classifier.predict(["unheard of"]).tolist() == [1]
    assert WMDClassifier(4, embedding=EMBEDDING).fit(texts, [0, 1, 2, 1, 2]).predict(["word3"]).tolist() == [2]
    only_known = WMDClassifier(2, embedding=EMBEDDING).fit([*texts[::2], "word3 word3"], [0, 2, 2, 1])
    assert only_known.predict(["unheard of"]).tolist() == [2]
    assert only_known.predict_proba(["unheard of"]) == pytest.approx(np.array([[1 / 4, 1 / 4, 1 / 2]]))


def test_copies_share_the_vectors_and_pickles_keep_them() -> None:
    classifier = WMDClassifier(embedding=EMBEDDING)
    assert clone(classifier).embedding is EMBEDDING
    fitted = classifier.fit(TEXTS, LABELS)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301 - its own
    assert np.array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS))
    search = GridSearchCV(clone(classifier), {"n_neighbors": [1, 3]}, cv=3).fit(TEXTS, LABELS)
    assert search.best_params_["n_neighbors"] in (1, 3)


def test_vectors_are_loaded_from_a_file(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "vectors.txt.gz", "wt") as file:
        file.writelines(
            f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, VECTORS.tolist(), strict=True)
        )
    loaded = WMDTransformer(embedding=str(tmp_path / "vectors.txt.gz")).fit_transform(TEXTS)
    given = WMDTransformer(embedding=EMBEDDING).fit_transform(TEXTS)
    assert loaded.toarray() == pytest.approx(given.toarray(), abs=1e-6)


@pytest.mark.slow
def test_texts_equal_brute_force_on_real_ones(shared: Path) -> None:
    from tests.oracle import VECTORS as REAL
    from tests.oracle import Oracle

    oracle = Oracle(REAL)
    with gzip.open(shared / "data" / "bbcsport" / "docs.jsonl.gz", "rt") as file:
        texts = [" ".join(json.loads(line)["text"].split()[:60]) for line, _ in zip(file, range(15), strict=False)]
    embedding = Embedding.of(oracle.keyed.index_to_key, oracle.keyed.vectors)
    distances, rows = WMDTransformer(embedding=embedding).fit(texts).kneighbors(texts[:3])
    counted = {str(row): oracle.count([(text, 0)]) for row, text in enumerate(texts)}
    for query in range(3):
        own = counted[str(query)]
        assert own
        brute = oracle.distances(own, {key: one for key, one in counted.items() if one})[0.0]
        assert distances[query] == pytest.approx(sorted(brute.values())[:5], rel=1e-6, abs=1e-9)
        assert rows[query, 0] == query


@pytest.mark.parametrize(
    ("made", "data", "sentence"),
    [
        ({}, ["word1"], "X are texts: give their word vectors"),
        ({}, "word1", "X are texts"),
        ({}, [[1, -1]], "Negative values in data passed to WMDTransformer"),
        ({"vectors": VECTORS}, [[1, 1]], r"vectors must be a row for each column of X, \(2, d\), not \(30, 4\)"),
        ({"vectors": [[1.0], [np.nan]]}, [[1, 1]], "row 1 of vectors has a number that is not finite"),
        ({"n_neighbors": 0}, [[1, 1]], "n_neighbors must be 1 or more, not 0"),
        ({"mode": "far"}, [[1, 1]], "mode must be"),
        ({"embedding": EMBEDDING}, "word1", "not a single string"),
        ({"embedding": EMBEDDING}, [["word1"]], "must be a list of texts: sample 0 is of type list"),
        ({"embedding": EMBEDDING}, [], "X has 0 texts"),
        ({"embedding": EMBEDDING}, ["nothing"], "no word of X has a vector"),
        ({"embedding": VECTORS}, ["word1"], "embedding must be a moverank.Embedding or the path of word vectors"),
        ({}, np.ones((1, 10_001)), "X has 10,001 columns, more than 10,000: give their word vectors"),
    ],
)
def test_invalid_input_is_one_sentence(made: dict[str, Any], data: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        WMDTransformer(**made).fit(data)


def test_too_few_documents_and_labels_are_reported() -> None:
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit, but n_neighbors = 6"):
        WMDTransformer(embedding=EMBEDDING).fit_transform(TEXTS[:5])
    with pytest.raises(ValueError, match="n_neighbors < n_samples_fit, but n_neighbors = 5"):
        WMDTransformer(embedding=EMBEDDING).fit(TEXTS[:5]).kneighbors()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        WMDClassifier(embedding=EMBEDDING).fit(TEXTS, LABELS[1:])
    with pytest.raises(RerankError, match="no word of X"):
        WMDClassifier(embedding=EMBEDDING).fit(["nothing"], [1])
    with pytest.raises(TypeError, match="n_neighbors must be a whole number"):
        WMDTransformer(2.5).fit(COUNTS)  # type: ignore[arg-type]


def test_distances_are_no_warning() -> None:
    """scikit-learn warns of graphs whose rows are not sorted by distance."""
    graph = WMDTransformer(8, vectors=VECTORS).fit_transform(COUNTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KNeighborsClassifier(5, metric="precomputed").fit(graph, LABELS).predict(graph)
