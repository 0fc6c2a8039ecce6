"""Scorers of other packages: the package of the manual, and broken ones."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from moverank import Collection, UsageError
from moverank.indexer.values.ranking_spec import parse_ranking
from moverank.rerank.errors import ScorerError
from moverank.rerank.scorers import choose_scorer, is_scorer, scorer_class
from moverank.rerank.scorers.bm25 import Bm25
from moverank.testing import check_scorer
from tests.indexer.world import CollectionFactory, document
from tests.rerank.encoders.packages import install_example, write_installed


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory whose `installed` is the installed package; its own tests run with the encoders'."""
    return install_example(tmp_path_factory.mktemp("package"))


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    """Open a collection of texts with one label each."""
    texts = ["ant bee", "ant bee cat", "dog", "ants bee bee bee", "zorp cat", "hen"]
    with CollectionFactory(tmp_path).empty() as opened:
        opened.index([document(f"d{i}", text, label="ab"[i % 2]) for i, text in enumerate(texts)])
        yield opened


@pytest.mark.slow
@pytest.mark.plugin("laboratory")
def test_an_installed_scorer_ranks(
    package: Path, collection: Collection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Alone, in sums, by stems, among candidates, and in experiments."""
    from moverank.indexer.plugins.laboratory.evaluating import KnnExperiment, RetrievalExperiment

    with pytest.raises(UsageError, match="there is no ranking 'jaccard'"):
        collection.search("ant bee", rank="jaccard")
    monkeypatch.syspath_prepend(package / "installed")
    shares = {"d0": 1.0, "d1": 2 / 3, "d3": 1 / 3}
    found = collection.search("ant bee", rank="jaccard")
    assert {hit.key: hit.scored for hit in found.hits} == pytest.approx(shares)
    stems = collection.search("ant bee", rank="jaccard:stem=english,power=2")
    assert {hit.key: hit.scored for hit in stems.hits} == pytest.approx({"d0": 1.0, "d1": 4 / 9, "d3": 1.0})
    assert parse_ranking("wmd+0.5*jaccard").fits  # nobody knows how long: a server has to allow it
    total = collection.search("ant bee", rank="wmd+0.5*jaccard", k=1)
    assert set(dict(total.hits[0].parts)) == {"wmd", "jaccard"}
    reranked = collection.rerank("ant bee", ["d2", "d3", "d1"], rank="jaccard")
    assert [hit.key for hit in reranked.hits] == ["d1", "d3", "d2"]
    (tmp_path / "qrels").write_text("d0 0 d1 1\n")
    table = RetrievalExperiment(qrels=str(tmp_path / "qrels"), methods=["jaccard"], measures=["mrr"]).run(
        collection.path
    )
    assert table.rows[0]["mrr"] == 1.0
    assert 0 <= float(KnnExperiment(methods=["jaccard"], k=1, times=1).run(collection.path).rows[0]["error"] or 0) <= 1
    for wrong, message in (("power=x", "power must be a number from 0.1 to 10"), ("powr=2", "did you mean power")):
        with pytest.raises(UsageError, match=message):
            collection.search("ant", rank=f"jaccard:{wrong}")


def test_a_broken_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = "class Scorer:\n    name, options, ascending = 'halfdone', (), True\n    fit = score = str\n"
    points = {"halfdone": "brokenscorer:Scorer", "bm25": "brokenscorer:Scorer"}
    monkeypatch.syspath_prepend(write_installed(tmp_path, "bad-scorers", points, "scorers", brokenscorer=broken))
    assert is_scorer("halfdone")
    message = "'halfdone' of the package bad-scorers 1.0 is no class with the attribute needs_vectors .*check_scorer"
    with pytest.raises(ScorerError, match=message):
        choose_scorer("halfdone", {})
    with pytest.raises(ScorerError, match=r"there is no scorer 'nope': choose bow, .*halfdone, or install"):
        scorer_class("nope")
    assert scorer_class("bm25") is Bm25


def _fit_any(_: type[Bm25], counts: object, statistics: object, __: Mapping[str, str]) -> Bm25:
    """Fit without a look at the options."""
    return Bm25.fit(counts, statistics, {})  # type: ignore[arg-type]


def _changed(change: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    return lambda self, query: change(Bm25.score(self, query))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": "a b"}, "name must be an identifier"),
        ({"options": ("k",)}, "options must be a tuple"),
        ({"ascending": None}, "ascending must be True or False"),
        ({"ascending": True}, "the smallest score must be that of the text itself"),
        ({"score": _changed(lambda scores: scores.astype(np.float32))}, "must return float64"),
        ({"score": _changed(lambda scores: scores[:-1])}, r"the shape \(n,\)"),
        ({"score": _changed(lambda scores: scores / 0.0)}, "not finite"),
        ({"score": _changed(lambda scores: scores + 1)}, "must have the score `unrelated`"),
        ({"score": _changed(lambda scores: scores * len(scores))}, "in a segment of some documents"),
        ({"unrelated": None}, "may be None only if words are compared by their vectors"),
        ({"fit": classmethod(_fit_any)}, "must raise ScorerError for nope"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_the_contract_says_what_is_wrong(changes: dict[str, object], reason: str) -> None:
    """Each fault of a scorer is found, and named in a sentence."""
    with pytest.raises(AssertionError, match=reason):
        check_scorer(type("Faulty", (Bm25,), changes))
