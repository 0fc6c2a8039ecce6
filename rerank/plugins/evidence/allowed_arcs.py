"""The units of texts with their places, and the units of one text that may be carried to another's, with costs."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Self

import numpy as np
from numpy.typing import NDArray

from moverank.rerank import kernels
from moverank.rerank.distance.cell_limit import check_cells, most_cells, reserved_cells
from moverank.rerank.distance.ground_cost import cost_floor, portion, typical_cost
from moverank.rerank.distance.word_blocks import MATRIX_BYTES
from moverank.rerank.errors import OptionError, TooLarge
from moverank.rerank.ranking import Span
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.embedding import Embedding
from moverank.rerank.words.limiting_words import INFLECTION, limits_of, negated_word, opposites_of
from moverank.rerank.words.sentence_spans import sentence_spans
from moverank.rerank.words.tokenizer import Tokenizer, stem_words, stemmer_named
from moverank.rerank.words.typed_units import units_of
from moverank.rerank.words.unit import Unit, UnitKey

Passages = Sequence[tuple[int | None, str]]
"""The texts of a document, each with the number of its part; None for the title."""

NEAR_SHARE = 0.6
"""The default limit of costs: words within this share of the typical cost of two words are near."""

_CELLS_PER_ARC = 5  # of a cost matrix, 20 bytes each, in the memory that an arc takes while all are found

AllowedArcs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""Rows (a,), columns (a,) and costs (a,)."""


def cost_limit(tau: float | None, embedding: Embedding) -> float:
    """Return the largest cost at which a word is carried; OptionError for a `tau` below 0, or that is no number."""
    if tau is None:
        return NEAR_SHARE * typical_cost(embedding)
    if not (isfinite(tau) and tau >= 0):
        raise OptionError(f"the limit of costs must be a number of 0 or more, not {tau}")
    return float(tau)


@dataclass(frozen=True, slots=True, eq=False)
class UnitText:
    """The units of a text in order, the `spans` of units and of sentences, and the sentence of each unit."""

    units: tuple[Unit, ...]
    spans: tuple[Span, ...]
    sentences: tuple[Span, ...]
    sentence_of: tuple[int, ...]

    @classmethod
    def of(cls, passages: Passages, tokenizer: Tokenizer) -> Self:
        """Split the texts of a document."""
        units, spans, sentences, sentence_of = list[Unit](), list[Span](), list[Span](), list[int]()
        for part, text in passages:
            check_time()
            first, found = len(sentences), units_of(text, tokenizer)
            own = list(_whole_sentences(text, found))
            sentences += [Span(part, start, end) for start, end in own]
            starts = [start for start, _ in own]
            for unit in found:
                units.append(unit)
                spans.append(Span(part, unit.start, unit.end))
                sentence_of.append(first + bisect_right(starts, unit.start) - 1)
        return cls(tuple(units), tuple(spans), tuple(sentences), tuple(sentence_of))

    @classmethod
    def tokens(cls, passages: Passages, tokenizer: Tokenizer) -> Self:
        """Split the texts of a document into all words, numbers and signs; stop words and signs are near no others.

        Signs belong to the word that they touch, as `dog,` and `(cat` in `a dog, (cat`.
        """
        units, spans, every = list[Unit](), list[Span](), replace(tokenizer, stop_words=frozenset())
        for part, text in passages:
            check_time()
            written = list(every.spans(text))
            within = {i for start, end, _ in written for i in range(start + 1, end)}
            numbers = (one for one in _NUMBER.finditer(text) if one.start() not in within)
            found = [Unit(one.start(), one.end(), "number", one[0]) for one in numbers]
            inside = {i for unit in found for i in range(unit.start, unit.end)}
            words = (one for one in written if one[0] not in inside)
            found += [Unit(i, j, "name" if word in tokenizer.stop_words else "word", word) for i, j, word in words]
            own = list(_with_signs(text, sorted(found, key=lambda unit: unit.start)))
            units += own
            spans += [Span(part, unit.start, unit.end) for unit in own]
        return cls(tuple(units), tuple(spans), (), ())


def _with_signs(text: str, words: Sequence[Unit]) -> Iterator[Unit]:
    """Yield the words with the signs that touch them, and the signs that touch none."""
    place = 0
    ends = [one.start for one in words][1:] + [len(text)] * bool(words)
    for unit, following in zip(words, ends, strict=True):
        lone = list(_SIGNS.finditer(text, place, unit.start))
        start = lone.pop().start() if lone and lone[-1].end() == unit.start else unit.start
        yield from (Unit(one.start(), one.end(), "name", one[0]) for one in lone)
        touching = _SIGNS.match(text, unit.end, following)
        place = touching.end() if touching else unit.end
        yield replace(unit, start=start, end=place)
    yield from (Unit(one.start(), one.end(), "name", one[0]) for one in _SIGNS.finditer(text, place))


_SIGNS = re.compile(r"\S+")
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")


def _whole_sentences(text: str, units: Sequence[Unit]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence; two are one if a unit, such as `Dec. 12, 2020`, is in both."""
    starts, last = [unit.start for unit in units], (0, 0)
    for start, end in sentence_spans(text):
        before = bisect_left(starts, start) - 1
        if before >= 0 and units[before].end > start:
            last = last[0], end
            continue
        if last[1]:
            yield last
        last = start, end
    if last[1]:
        yield last


def joined(first: Span, last: Span) -> Span:
    """Return the span from one to a later one of the same part."""
    return Span(first.part, first.start, last.end)


def allowed_arcs(said: "Said", embedding: Embedding, tau: float) -> AllowedArcs:
    """Return which of the distinct units of a claim (n,) may be carried to which of sources (m,), in order of the rows.

    What says the same costs 0: equal units, words of one stem and polarity, a date and one that says more, and what is
    said under a condition and what is said without. Other words with vectors cost their distance, at most `tau`, but
    none is carried to its contrary, such as `safe` to `unsafe`. Nothing else is allowed. Raises TooLarge for too
    many pairs of words or arcs.
    """
    own, others = said.own, said.others
    with reserved_cells(1, min(_CELLS_PER_ARC * len(own) * len(others), most_cells())):
        contrary = said.pairs(said.contraries)
        free = said.pairs(said.same) - contrary
        rows, columns = np.array(sorted(free), np.int64).reshape(-1, 2).T
        found = [(rows, columns, np.zeros(len(rows)))]
        apart = np.array([i * len(others) + j for i, j in free | contrary], np.int64)
        polarities = sorted({polarity for kind, _, polarity in others if kind == "word"})
        found += [_near(own, others, embedding, tau, apart, polarity) for polarity in polarities]
        rows, columns, cost = (np.concatenate(values) for values in zip(*found, strict=True))
        order = np.lexsort((columns, rows))
        return rows[order], columns[order], cost[order]


_Form = tuple[str, str, str]  # "word", "name", "stem", "bare" or another kind, value and polarity of what a unit says
_ENDING = 2  # letters of the endings of forms, in languages without a table of them


class Said:
    """What the distinct units of sources, `others`, say, in all the forms in which those of a claim, `own`, may say it.

    `language` is a code.
    """

    def __init__(self, own: Sequence[UnitKey], others: Sequence[UnitKey], language: str) -> None:
        self.own, self.others = own, others
        stemmer, limits = stemmer_named(language), limits_of(language)
        self._language, self._endings = language, limits.lists[INFLECTION]
        words = [value for kind, value, _ in (*own, *others) if kind == "word"]
        forms = list({form for word in words for form in (word, negated_word(word, language))}.union(*limits.opposites))
        self._stem = dict(zip(forms, stem_words(forms, stemmer) if stemmer else forms, strict=True))
        self._contrary = defaultdict[str, list[str]](list)
        for first, second in limits.opposites:
            self._contrary[self._stem[first]].append(self._stem[second])
            self._contrary[self._stem[second]].append(self._stem[first])
        self._columns = defaultdict[_Form, list[tuple[int, str]]](list)
        for j, key in enumerate(others):
            for (kind, value, polarity), word in self._implied(key):
                self._columns[kind, value, polarity].append((j, word))
                if not polarity.endswith("if"):
                    self._columns[kind, value, f"{polarity} if".strip()].append((j, word))

    def pairs(self, forms_of: Callable[[UnitKey], Iterable[tuple[_Form, str]]]) -> set[tuple[int, int]]:
        """Return the units of the claim whose forms the sources say, and the units of the sources that say them.

        Each form has the word that it is made of, "" if any other word with that form will do.
        """
        both = ((i, form, word) for i, key in enumerate(self.own) for form, word in forms_of(key))
        found = ((i, j, word, other) for i, form, word in both for j, other in self._columns.get(form, ()))
        return {(i, j) for i, j, word, other in found if not word or self._is_form(word, other)}

    def _is_form(self, word: str, other: str) -> bool:
        """Return whether two words of one stem differ by endings of forms only: `ration` is no form of `rational`."""
        shorter = min(len(word), len(other))
        size = next((i for i in range(shorter) if word[i] != other[i]), shorter)
        ends = [one[size:] for one in (word, other)]
        doubled = [end[1:] if end[:1] == word[size - 1 : size] else end for end in ends]  # as in `stop` and `stopped`
        known = self._endings or {end for end in ends if len(end) <= _ENDING}
        return all(end in known or not end for end in ends) or all(end in known or not end for end in doubled)

    def same(self, key: UnitKey) -> Iterator[tuple[_Form, str]]:
        """Yield a unit of the claim in the forms in which a source may say the same; `invalid` is `not valid`."""
        kind, value, polarity = key
        yield key, ""
        if kind == "word":
            yield ("stem", self._stem[value], polarity), value
            if negated := negated_word(value, self._language):
                yield ("stem", self._stem[negated], _other_polarity(polarity)), negated

    def otherwise(self, key: UnitKey) -> Iterator[tuple[_Form, str]]:
        """Yield the forms of a unit with each other polarity."""
        kind, value, polarity = key
        for other in {"", "not", "if", "not if"} - {polarity}:
            yield from self.same((kind, value, other))

    def contraries(self, key: UnitKey) -> Iterator[tuple[_Form, str]]:
        """Yield the contraries of a word, by an affix or by the table of the language."""
        kind, value, polarity = key
        if kind == "word":
            yield from ((("bare", other, polarity), "") for one in _bare(value) for other in opposites_of(one))
            yield from ((("stem", other, polarity), "") for other in self._contrary.get(self._stem[value], ()))

    def _implied(self, key: UnitKey) -> Iterator[tuple[_Form, str]]:
        """Yield what a unit of a source says: the same name where it begins a sentence, less exact dates, ..."""
        kind, value, polarity = key
        yield from self.same(key)
        if kind == "word":
            yield from ((("bare", one, polarity), "") for one in _bare(value))
        if kind in ("word", "name"):
            yield ("name" if kind == "word" else "word", value, polarity), ""
        elif kind in ("date", "number") and value.isdecimal():
            yield ("number" if kind == "date" else "date", value, polarity), ""  # `2000 people`
        if kind == "date":
            yield from ((("date", less, polarity), "") for less in less_exact(value))


def _bare(word: str) -> set[str]:
    """Return a word, and it without the ending of a plural or an adverb, before which an affix may be."""
    return {word, word.removesuffix("s").removesuffix("ly")}


def _other_polarity(polarity: str) -> str:
    """Return the polarity after one negation more: `unsafe` is `safe` with it."""
    return polarity.removeprefix("not").strip() if polarity.startswith("not") else f"not {polarity}".strip()


def _near(
    own: Sequence[UnitKey],
    others: Sequence[UnitKey],
    embedding: Embedding,
    tau: float,
    apart: NDArray[np.int64],
    polarity: str,
) -> AllowedArcs:
    """Return the arcs between near words of one polarity, without `apart` (k,): row * number of columns + column."""
    rows, vectors = _known(own, embedding, {polarity, f"{polarity} if".strip()})
    columns, points = _known(others, embedding, {polarity})
    check_cells(len(rows), len(columns))
    one, other, cost = _near_arcs(vectors, points, tau, most_cells() // _CELLS_PER_ARC)
    kept = ~np.isin(rows[one] * len(others) + columns[other], apart)
    return rows[one[kept]], columns[other[kept]], cost[kept]


def _known(
    keys: Sequence[UnitKey], embedding: Embedding, polarities: Collection[str]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return which units (k,) are words of some polarities with a vector, and their vectors (k, d)."""
    places = [i for i, (kind, _, own) in enumerate(keys) if kind == "word" and own in polarities]
    vectors, known = embedding.spread([keys[i][1] for i in places]) if places else _nothing(embedding)
    return np.array(places, np.int64)[known], vectors[known]


def _nothing(embedding: Embedding) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    return np.empty((0, embedding.dim), np.float32), np.empty(0, bool)


def less_exact(value: str) -> tuple[str, ...]:
    """Return the dates that a date implies: `2020-03-12` implies `2020`, `--03`, `2020-03` and `--03-12`."""
    if value.startswith("--"):
        return (value[:4],) if len(value) > len("--06") else ()
    year, *others = value.split("-")
    month = (f"{year}-{others[0]}", f"--{others[0]}-{others[1]}") if len(others) == 2 else ()
    return (year, f"--{others[0]}", *month) if others else ()


def _near_arcs(
    sources: NDArray[np.float32], targets: NDArray[np.float32], most: float, most_arcs: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return rows (a,), columns (a,) and exact costs (a,) of the arcs that cost at most `most`, in order of the rows.

    `sources` (n, d) and `targets` (m, d) are word vectors. The costs of the others are never computed exactly. Raises
    TooLarge for more than `most_arcs`.
    """
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    ceiling = np.float32(min(most, float(np.finfo(np.float32).max)))
    size = max(1, min(portion(targets), MATRIX_BYTES // (4 * max(1, len(targets)))))
    for start in range(0, len(sources) if len(targets) else 0, size):
        check_time()
        some = sources[start : start + size]
        possible = cost_floor(some, targets) <= ceiling
        most_arcs -= int(np.count_nonzero(possible))
        if most_arcs < 0:
            raise TooLarge("too many pairs of words are near enough: choose a smaller limit of costs, or shorter texts")
        rows, columns = np.nonzero(possible)
        cost = kernels.exact_arcs(some, targets, rows, columns)
        near = cost <= most
        found.append((rows[near] + start, columns[near], cost[near]))
    rows, columns, cost = (np.concatenate(values) for values in zip(*found, strict=True))
    return rows, columns, cost
