"""Marks, views and pages of comparisons."""

from collections import Counter
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.plugins.evidence.compared_texts import compared_passages
from moverank.indexer.plugins.evidence.comparison_marks import (
    REASONS,
    ComparedMark,
    Side,
    changes_sides,
    evidence_sides,
    pieces,
)
from moverank.indexer.plugins.evidence.comparison_page import changes_page, evidence_page
from moverank.indexer.plugins.evidence.comparison_view import changes_view, evidence_view
from moverank.indexer.values.documents import Document, Part
from moverank.rerank.plugins.evidence.evidence import Evidence, evidence_of
from moverank.rerank.plugins.evidence.text_changes import TextChanges, changes_of
from moverank.rerank.ranking import Span
from tests.indexer.formatters.samples import MALICIOUS, printed
from tests.indexer.formatters.test_html_page import _Balance
from tests.rerank.plugins.evidence.test_evidence import EMBEDDING, TAU, TOKENIZER

CLAIM = Document("claim", "Title cat", (Part("The kitten naps. 5 mg & a dog <b>."), Part("A dog. It is not useful.")))
SOURCES = {
    "one": Document("one", "", (Part("A cat sleeps. 6 mg"),)),
    "two": Document("two", "dog", (Part("dog: useful\n\ncat"),)),
}


def _evidence(claim: Document = CLAIM) -> Evidence:
    passages = [(key, compared_passages(one)) for key, one in SOURCES.items()]
    return evidence_of(compared_passages(claim), passages, TOKENIZER, EMBEDDING, TAU)


def _changes(old: Document, new: Document) -> TextChanges:
    return changes_of(compared_passages(old), compared_passages(new), TOKENIZER, EMBEDDING, TAU)


@given(st.text(max_size=20), st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), max_size=5))
def test_pieces_are_the_text_and_have_all_marks_of_each_character(text: str, places: list[tuple[int, int]]) -> None:
    spans = [Span(0, start, min(len(text), start + size)) for start, size in places if start < len(text)]
    found = list(pieces(text, [ComparedMark(span, "same", flow=i) for i, span in enumerate(spans)]))
    assert "".join(piece.text for piece in found) == text
    assert Counter(flow for piece in found for flow in piece.starts) == Counter(range(len(spans)))
    place = 0
    for piece in found:
        for at in range(place, place + len(piece.text)):
            assert sorted(piece.flows) == [i for i, span in enumerate(spans) if span.start <= at < span.end]
        place += len(piece.text)


def test_sides_have_a_mark_for_each_run() -> None:
    evidence = _evidence()
    claim, *sources = evidence_sides(evidence, CLAIM, SOURCES)
    assert [side.name for side in (claim, *sources)] == ["claim", "one", "two"]
    assert len(claim.marks) == len(evidence.carried) + len(evidence.uncovered)
    flows = [mark.flow for side in sources for mark in side.marks if mark.flow is not None]
    assert sorted(flows) == list(range(len(evidence.carried)))
    assert {mark.note for mark in claim.marks if mark.kind == "uncovered"} <= set(REASONS.values())
    texts = dict(claim.texts)
    near = next(mark for mark in claim.marks if mark.kind == "near")
    assert texts[near.span.part][near.span.start : near.span.end] == "kitten naps"
    assert near.note == "from 'cat sleeps', cost 0.50"


def test_blocks_have_the_marks_of_their_parts() -> None:
    class Counted(tuple[ComparedMark, ...]):
        reads = 0

        def __iter__(self) -> Iterator[ComparedMark]:
            Counted.reads += 1
            return super().__iter__()

    marks = Counted(ComparedMark(Span(part, 0, 1), "same", flow=part) for part in range(50) for _ in range(2))
    blocks = list(Side("one", tuple((part, "ab") for part in range(-1, 50)), marks).blocks())
    assert [[(piece.text, piece.flows) for piece in block] for block in blocks] == [
        [("ab", [])],
        *([("a", [part, part]), ("b", [])] for part in range(50)),
    ]
    assert Counted.reads == 1, "not once for each part"


def test_a_date_that_says_more_is_not_the_same() -> None:
    claim, source = Document("c", "", (Part("in 2020 a cat"),)), Document("s", "", (Part("on 12 March 2020, a cat"),))
    passages = [("s", compared_passages(source))]
    evidence = evidence_of(compared_passages(claim), passages, TOKENIZER, EMBEDDING, 0.0)
    own, other = evidence_sides(evidence, claim, {"s": source})
    assert [(mark.kind, mark.note) for mark in own.marks] == [("near", "from '12 March 2020'"), ("same", "")]
    assert [mark.kind for mark in other.marks] == ["near", "same"]
    assert "2020 \u2190 12 March 2020 0.00" in printed(evidence_view(evidence, claim, {"s": source}, colour=False))


def test_the_terminal_shows_shares_and_what_is_not_covered() -> None:
    plain = printed(evidence_view(_evidence(), CLAIM, SOURCES, colour=False))
    assert plain.splitlines()[:5] == [
        "   50 %  [Title] cat",
        "  100 %  The kitten naps.",
        "         kitten naps ← cat sleeps 0.50",
        " 33.3 %  [5 mg] & a dog <[b]>.",
        "  100 %  A dog.",
    ]
    assert "nothing covers more" in plain
    assert "[5 mg]" not in printed(evidence_view(_evidence(), CLAIM, SOURCES, colour=True))


def test_changes_are_shown_around_what_they_are() -> None:
    old, new = SOURCES["one"], Document("new", "", (Part("zorp A kitten sleeps."), Part("truck")))
    shown = printed(changes_view(_changes(old, new), old, new))
    assert shown.splitlines()[0].startswith("{+zorp+} A [-cat-]{+kitten+} sleeps. [-6 mg-]")
    assert "{+truck+}" in shown
    sides = changes_sides(_changes(old, new), old, new)
    assert [sorted({mark.kind for mark in side.marks}) for side in sides] == [
        ["changed", "dropped"],
        ["changed", "new"],
    ]


def test_a_version_may_be_empty() -> None:
    nothing = Document("nothing")
    for pair in ((nothing, CLAIM), (CLAIM, nothing)):
        assert printed(changes_view(_changes(*pair), *pair))
        assert "beside" in changes_page(_changes(*pair), *pair)


def test_long_unchanged_texts_are_left_out() -> None:
    old = Document("old", "", (Part("cat " * 200 + "dog " + "cat " * 200),))
    new = Document("new", "", (Part("cat " * 200 + "truck " + "cat " * 200),))
    shown = printed(changes_view(_changes(old, new), old, new), width=2000)
    assert len(shown.splitlines()[0]) < 300
    assert "{+truck+}" in shown


def test_pages_are_well_formed_load_nothing_and_link_each_run_to_its_counterpart() -> None:
    odd = Document(MALICIOUS, "<script>", (Part("</p><script>cat</script> \"dog' & 5 mg zorp"),))
    for page in (
        evidence_page(_evidence(), CLAIM, SOURCES),
        evidence_page(_evidence(odd), odd, SOURCES),
        changes_page(_changes(odd, CLAIM), odd, CLAIM),
    ):
        parsed = _Balance()
        parsed.feed(page)
        assert parsed.open == []
        assert not {"script", "link", "img", "src"} & set(parsed.seen)
        assert not [name for name in parsed.seen if name.startswith("on")]
        ids = [one.partition('"')[0] for one in page.split(' id="')[1:]]
        targets = {one.partition('"')[0] for one in page.split('href="#')[1:]}
        assert len(ids) == len(set(ids))
        assert targets <= set(ids)
        assert targets
