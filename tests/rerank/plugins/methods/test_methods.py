"""The methods are found by entry points, in their place among the names of the core, and nothing replaces them."""

from pathlib import Path

import pytest

from moverank import UsageError
from moverank.indexer.values.ranking_spec import parse_ranking, ranking_names
from moverank.rerank import entry_points
from moverank.rerank.encoders import first_stages
from moverank.rerank.encoders.first_stages import choose_encoder, is_encoder
from moverank.rerank.errors import EncoderError
from moverank.rerank.plugins.methods.lda import Lda
from moverank.rerank.plugins.methods.pl2 import Pl2
from moverank.rerank.scorers import is_scorer, scorer_class, scorer_registry
from tests.rerank.encoders.packages import write_installed

ENCODERS, SCORERS = ("lda", "msda", "ccg"), ("pl2", "translation", "interpolation")
FOUND = (first_stages.PLUG_INS, scorer_registry.PLUG_INS)


def test_names_are_in_their_place() -> None:
    assert [found.names() for found in FOUND] == [
        ("centroid", "fisher", "lsi", *ENCODERS),
        ("bow", "tfidf", "bm25", *SCORERS),
    ]
    assert parse_ranking("wmd+0.5*lda+pl2").terms[1].words == "topic"
    assert not parse_ranking("wmd+pl2").fits  # a server need not allow it


def test_scorers_that_compare_vectors_have_neither_stems_nor_ngrams() -> None:
    assert [name for name in SCORERS if scorer_class(name).needs_vectors] == ["translation", "interpolation"]
    for rank, option in (("translation:ngrams=4", "ngrams"), ("interpolation:stem=english", "stem")):
        with pytest.raises(UsageError, match=f"compares words by their vectors: leave {option} out"):
            parse_ranking(rank)


def test_no_package_replaces_or_doubles_a_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = [found.names() for found in FOUND]
    for kind, name in (("encoders", "lda"), ("scorers", "pl2")):
        path = write_installed(tmp_path / kind, f"bad-{kind}", {name: "gone:Class"}, kind)
        monkeypatch.syspath_prepend(path)
    for found in FOUND:
        monkeypatch.setattr(found, "_loaded", {})
    assert [found.names() for found in FOUND] == before
    assert choose_encoder("lda", {}) is Lda
    assert scorer_class("pl2") is Pl2


def test_the_core_ranks_without_the_folder_of_the_methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_there(point: entry_points.EntryPoint) -> bool:
        return not point.value.startswith("moverank.rerank.plugins.methods.")

    monkeypatch.setattr(entry_points.EntryPoint, "is_there", property(is_there))
    monkeypatch.syspath_prepend(tmp_path)  # entry points are read again
    for found in FOUND:
        monkeypatch.setattr(found, "_loaded", {})
    assert not any(map(is_encoder, ENCODERS))
    assert not any(map(is_scorer, SCORERS))
    assert not {*ENCODERS, *SCORERS} & {*ranking_names()}
    with pytest.raises(EncoderError, match="there is no encoder 'lda': choose centroid, fisher, lsi, or install the"):
        choose_encoder("lda", {})
    for rank in ("wmd+lda", "pl2", "pl2:stem=english"):
        with pytest.raises(UsageError, match=r"there is no ranking '(lda|pl2)'.*tfidf, bm25, centroid, fisher, lsi, v"):
            parse_ranking(rank)


def test_a_ranking_of_the_core_reads_no_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object) -> None:
        raise AssertionError("entry points are read")

    monkeypatch.setattr("moverank.rerank.plug_ins.entry_points", read)
    every = "wmd+cover+cosine+bow+tfidf+bm25:stem=english+centroid+fisher+lsi"
    assert [term.scorer is not None for term in parse_ranking(every).terms] == [False] * 3 + [True] * 3 + [False] * 3
