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
from moverank.indexer.plugins.evidence.differences import changes_differences
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


def test_the_terminal_lists_what_is_not_covered_beside_what_covers_most_of_the_sentence() -> None:
    plain = printed(evidence_view(_evidence(), CLAIM, SOURCES, colour=False)).splitlines()
    assert "nothing covers more of what is compared" in plain[0]
    assert plain[1:] == [
        "1. 1 of 2 units covered; no source has this word, which has no vector: Title",
        "   claim:1  [Title] cat",
        "   one:1    A cat sleeps.",
        "2. 1 of 3 units covered; no source has this value: 5 mg; no source has this word, which has no vector: b",
        "   claim:1  [5 mg] & a dog <[b]>.",
        "   two:1    dog: useful",
        "3. 0 of 1 units covered; the sources have this with the other polarity only: useful",
        "   claim:1  It is not [useful].",
        "near words in: The kitten naps.",
        "   kitten naps \N{LEFTWARDS ARROW} cat sleeps 0.50",
    ]
    assert "[5 mg]" not in printed(evidence_view(_evidence(), CLAIM, SOURCES, colour=True))


def test_words_that_are_not_compared_are_counted_and_named_if_no_source_has_them() -> None:
    found = _evidence()
    assert found.left_out == 6
    assert found.left_out_words == ("the", "it", "is", "not")
    assert "not compared: 6 (no source has: the, it, is, not)" in printed(
        evidence_view(found, CLAIM, SOURCES, colour=False)
    )
    assert Evidence.from_dict(found.to_dict()) == found


_OLD = "1. A cat sleeps.\n2. A dog has 6 mg.\n3. The truck is late and is new.\n4. It is useful."
_NEW = "1. It is useful.\n2. A kitten sleeps.\n3. The truck is late and is new.\n\nzorp"
OLD, NEW = (Document(name, "", (Part(text),)) for name, text in (("old", _OLD), ("new", _NEW)))


def test_changes_are_listed_with_both_sentences_and_their_lines() -> None:
    shown = printed(changes_view(_changes(OLD, NEW), OLD, NEW, colour=False), width=200)
    assert shown.splitlines()[1:] == [
        "1. dropped, moved",
        "   old:4  [-4.-] {~It is useful.~}",
        "   new:1  1. {~It is useful.~}",
        "2. changed, new",
        "   old:1  1. A [-cat-] sleeps.",
        "   new:2  {+2.+} A {+kitten+} sleeps.",
        "3. dropped",
        "   old:2  [-2. A dog has 6 mg.-]",
        "4. new",
        "   new:5  {+zorp+}",
    ]


def test_a_sentence_that_only_moved_is_shown_once() -> None:
    old = Document("old", "", (Part("A cat sleeps and is useful. A dog naps here."),))
    new = Document("new", "", (Part("A dog naps here. A cat sleeps and is useful."),))
    shown = printed(changes_view(_changes(old, new), old, new, colour=False))
    assert shown.splitlines()[1:] == ["1. moved", "   new:1  {~A dog naps here.~}"]


def test_a_version_may_be_empty() -> None:
    nothing = Document("nothing")
    for pair in ((nothing, CLAIM), (CLAIM, nothing)):
        assert printed(changes_view(_changes(*pair), *pair, colour=True))
        assert "beside" in changes_page(_changes(*pair), *pair)


def test_paragraphs_without_a_difference_are_folded() -> None:
    text = "cat " * 20 + "\n\n" + "dog " * 20 + "\n \n" + "cat dog " * 20
    old, new = (
        Document(name, "", (Part(f"{text}\n\n{last}\n\ndog"),)) for name, last in (("old", "cat"), ("new", "truck"))
    )
    page = changes_page(_changes(old, new), old, new)
    assert page.count("<summary>3 paragraphs without a difference</summary>") == 2
    assert page.count("<details>") == page.count("</details>") == 2
    assert page.index("<h2>Differences</h2>") < page.index("<h2>Texts</h2>")
    same = changes_page(_changes(old, old), old, old)
    assert "There is no difference." in same


def test_no_difference_has_a_mark_outside_its_sentence() -> None:
    changes = _changes(OLD, NEW)
    sides = changes_sides(changes, OLD, NEW)
    for one in changes_differences(changes, sides):
        for sentence, side in ((one.first, sides[0]), (one.second, sides[1])):
            if sentence is not None:
                assert "".join(piece.text for piece in sentence.pieces) in dict(side.texts)[0]


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
