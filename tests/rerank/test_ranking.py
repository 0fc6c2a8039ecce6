import ast
import inspect
import json
import math
from dataclasses import fields
from itertools import pairwise
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.rerank import ranking as module
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.ranking import (
    DISTANCES,
    Distance,
    Flow,
    Highlight,
    Hit,
    Passage,
    Ranking,
    Span,
    StageCounts,
    TermScale,
)

COUNTS = st.builds(StageCounts, *[st.integers(0, 10**9)] * 5)
NUMBERS = st.floats(0, 1e6)
OR_NAN = NUMBERS | st.just(math.nan)
NAMES = st.sampled_from(["wmd", "cover", "bm25:stem=english", "bm25:ngrams=4"])
WORDS = st.lists(st.text(max_size=5), max_size=3).map(tuple)
METADATA = st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2)
SPANS = st.lists(st.builds(Span, st.none() | st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), max_size=2).map(
    tuple
)
_PLACE = st.integers(0, 99)
SPANS = st.lists(st.builds(Span, st.none() | _PLACE, _PLACE, _PLACE), max_size=2).map(tuple)
FLOWS = st.lists(st.builds(Flow, st.text(), st.text(), NUMBERS, NUMBERS, NUMBERS, SPANS, SPANS), max_size=2).map(tuple)
HIGHLIGHTS = st.lists(
    st.builds(Highlight, st.none() | st.integers(0, 9), _PLACE, _PLACE, st.text(), st.text(), NUMBERS), max_size=2
).map(tuple)
PASSAGES = st.none() | st.builds(Passage, _PLACE, _PLACE, _PLACE, st.text(), NUMBERS, st.integers(1, 9))


@st.composite
def hits(draw: st.DrawFn) -> Hit:
    """Draw a hit that a distance, a scorer or a sum ranked, of a search or among candidates."""
    about: dict[str, Any] = {"title": draw(st.text()), "label": draw(st.none() | st.text()), "snippet": draw(st.text())}
    about["text"] = draw(st.none() | st.text())
    about |= {"metadata": draw(METADATA), "flows": draw(FLOWS)}
    about |= {"highlights": draw(HIGHLIGHTS), "snippet_highlights": draw(HIGHLIGHTS), "passage": draw(PASSAGES)}
    about["highlighted"] = bool(about["highlights"] or about["snippet_highlights"]) or draw(st.booleans())
    about["part_starts"] = tuple(draw(st.lists(st.integers(0, 99), max_size=2)))
    kind = draw(st.sampled_from(["distance", "scorer", "sum"]))
    distance = {"distance": NUMBERS, "scorer": st.just(math.nan), "sum": OR_NAN}[kind]
    if kind == "sum":
        names = draw(st.lists(NAMES, unique=True))
        parts = tuple((name, draw(OR_NAN)) for name in names)
        about |= {"total": draw(NUMBERS), "parts": parts, "costs": tuple((name, draw(NUMBERS)) for name in names)}
    if draw(st.booleans()):
        about |= {"candidate": draw(st.integers(0, 9)), "exact": draw(st.booleans()), "wordless": draw(st.booleans())}
    if kind == "scorer" or "candidate" in about:
        about["scored"] = draw(NUMBERS)
    return Hit(draw(st.text()), draw(distance), **about)


SCALES = st.builds(TermScale, st.text(), st.text(), NAMES, NUMBERS, st.none() | NUMBERS, st.none() | NUMBERS)
RANKINGS = st.builds(
    Ranking,
    st.lists(hits(), max_size=3).map(tuple),
    st.booleans(),
    st.sampled_from(["collection", "candidates", "shards"]),
    COUNTS,
    NUMBERS,
    NUMBERS.map(lambda seconds: round(seconds, 6)),
    st.none() | st.text(min_size=1),
    st.text(),
    st.none() | WORDS,
    st.none() | WORDS,
    st.dictionaries(st.text(max_size=3), WORDS, max_size=2),
    WORDS,
    st.lists(SCALES, max_size=3).map(tuple),
)


def test_the_distances_are_those_of_the_literal_type() -> None:
    assert get_args(Distance) == DISTANCES
    assert set(DISTANCES) == {"wmd", "pwmd", "rwmd", "chamfer", "cover", "wcd"}


@pytest.mark.parametrize(("distance", "score"), [(0.0, 1.0), (1.0, 0.5), (3.0, 0.25), (float("inf"), 0.0)])
def test_the_score_falls_from_one_to_zero(distance: float, score: float) -> None:
    assert Hit("key", distance).score == score


@given(COUNTS, COUNTS)
def test_counts_are_added_by_stage(one: StageCounts, other: StageCounts) -> None:
    both = (one + other).to_dict()
    assert list(both) == ["candidates", "rwmd", "dual", "sinkhorn", "solved"]
    assert both == {name: one.to_dict()[name] + other.to_dict()[name] for name in both}
    assert one + StageCounts() == one


def test_a_ranking_has_empty_defaults_and_is_frozen() -> None:
    ranking = Ranking((Hit("a", 0.5),), certified=True, scope="collection")
    assert ranking.counts == StageCounts()
    assert (ranking.hits[0].title, ranking.hits[0].label, ranking.hits[0].flows) == ("", None, ())
    with pytest.raises(AttributeError):
        ranking.certified = False  # type: ignore[misc]  # the assignment must fail


def test_objects_have_the_public_keys() -> None:
    values = Ranking((Hit("key/1", 1.25, "Title", flows=(Flow("cat", "dog", 0.5, 2.0, 0.8),)),), True, "collection")
    assert list(values.to_dict()) == (
        ["hits", "certified", "scope", "largest_error", "counts", "seconds", "ranking", "terms"]
    )
    (hit,) = values.to_dict()["hits"]
    shown = ["rank", "key", "title", "distance", "score", "label", "metadata", "snippet"]
    assert list(hit) == [*shown, "flows"]
    assert (hit["rank"], hit["score"]) == (1, pytest.approx(1 / 2.25))
    assert hit["flows"] == [{"source": "cat", "target": "dog", "mass": 0.5, "cost": 2.0, "share": 0.8}]
    spans = {"source_spans": [{"part": None, "start": 0, "end": 3}], "target_spans": []}
    assert Flow("cat", "dog", 0.5, 2.0, 0.8, (Span(None, 0, 3),)).to_dict() == hit["flows"][0] | spans
    assert list(Hit("a", math.nan, total=1.0, candidate=0).to_dict()) == (
        [*shown[1:], "total", "parts", "costs", "candidate", "exact", "wordless"]
    )
    assert list(Explanation(1.25, ()).to_dict()) == (
        ["distance", "flows", "highlights", "unknown_words", "ignored_words"]
    )
    assert list(Explanation(1.25, (), 2.0).to_dict())[:5] == ["distance", "total", "parts", "costs", "terms"]


@given(RANKINGS)
def test_a_ranking_survives_json(ranking: Ranking) -> None:
    """All fields come back, nan as well: JSON has no word for it."""
    values = json.loads(json.dumps(ranking.to_dict(), allow_nan=False))
    assert repr(Ranking.from_dict(values)) == repr(ranking)
    assert Ranking.from_dict(values).to_dict() == values


@pytest.mark.parametrize("kind", [Hit, Ranking, TermScale])
def test_every_field_has_a_docstring(kind: type) -> None:
    (body,) = [
        node.body
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    ]
    documented = [
        node.target.id
        for node, after in pairwise(body)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
    ]
    assert documented == [field.name for field in fields(kind)]
