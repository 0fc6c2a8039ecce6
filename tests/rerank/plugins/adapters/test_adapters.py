"""All adapters: nothing imports a host before its adapter is; and what the adapters of rerankers share."""

import math
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from moverank import IndexerError, Reranker, RerankError
from moverank.rerank.plugins.adapters.ranker import HeldRanker, LoadedOnce, check_count
from tests.contracts.documentation import PAGES, ROOT, rows
from tests.rerank.plugins.adapters import small_world as world

HOSTS = {
    "haystack": {"haystack"},
    "lancedb": {"lancedb", "pyarrow"},
    "langchain": {"langchain_core", "pydantic"},
    "llama_index": {"llama_index"},
    "pyterrier": {"pandas", "pyterrier"},
    "rerankers": {"rerankers"},
    "scikit_learn": {"sklearn"},
}
"""The packages that adapters import, by module."""


@pytest.mark.slow
def test_the_library_imports_no_host() -> None:
    program = "import moverank, sys; moverank.Reranker, moverank.Collection; print(*sys.modules)"
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in completed.stdout.split()}
    assert not loaded & set().union(*HOSTS.values())
    assert "moverank.rerank.plugins.adapters" not in completed.stdout.split()


def test_the_manual_has_every_adapter() -> None:
    table = list(rows(PAGES["adapters"], "host"))
    assert {cells[1].strip("`") for cells in table} == {*HOSTS, "gensim"}
    extras = {cells[2].strip("`") for cells in table} - {"none"}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert len(extras) == len(HOSTS)
    assert extras <= set(project["optional-dependencies"])


def test_a_path_is_loaded_once(tmp_path: Path) -> None:
    loads: list[str] = []

    def _load(path: str) -> list[str]:
        loads.append(path)
        return [path]

    once = LoadedOnce[list[str]](tmp_path, _load)
    assert loads == []
    assert once.get() is once.get()
    assert loads == [str(tmp_path)]


def test_candidates_keep_their_index(ranker: Reranker) -> None:
    places = HeldRanker(ranker).places(world.QUERY, [*world.TEXTS.values(), None])
    keys = [*world.TEXTS, "missing"]
    assert [keys[place.index] for place in places][:-2] == world.order()[:-1]
    assert {keys[place.index]: place.status for place in places[-2:]} == {"wordless": "wordless", "missing": "wordless"}
    assert HeldRanker(ranker).places(world.QUERY, []) == []
    scores = [place.score for place in places]
    assert scores == sorted(set(scores), reverse=True)


def test_scores_of_the_host_reach_a_ranking_that_names_them(ranker: Reranker) -> None:
    texts, scores = ["cat", "cat", "cat", "cat"], [0.1, 0.9, 0.5, math.inf]
    by_vector = HeldRanker(ranker).places("cat", texts, None, scores, "wmd+vector")
    assert [place.index for place in by_vector] == [1, 2, 0, 3]
    assert [place.index for place in HeldRanker(ranker).places("cat", texts, None, scores)] == [0, 1, 2, 3]
    with pytest.raises(IndexerError, match="the ranking has the term vector: give the scores of the engine"):
        HeldRanker(ranker).places("cat", texts, rank="wmd+vector")


def test_an_invalid_ranking_is_named_when_the_ranker_is_loaded(ranker: Reranker) -> None:
    with pytest.raises(ValueError, match="nonsense"):
        HeldRanker(ranker).load("nonsense")


@pytest.mark.parametrize("value", [0, -1, 1.5, "3", True])
def test_invalid_counts_are_named(value: int) -> None:
    with pytest.raises(ValueError, match="top_n must be a whole number of 1 or more, or None for all, not"):
        check_count("top_n", value)


def test_what_is_no_ranker_is_named() -> None:
    with pytest.raises(RerankError, match=r"the ranker must be a moverank\.Reranker or the path .*, not 5"):
        HeldRanker(5)  # type: ignore[arg-type]
