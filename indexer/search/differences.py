"""What a text states that near word vectors do not show: negations, numbers, quantities, dates and limiting words.

Two texts with equal bags may state the contrary, as `the drug is safe` and `the drug is not safe` do: negations and
limits are stop words, and numbers are near each other.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from moverank.indexer.store import Reader
from moverank.rerank.runtime.deadline import check_time
from moverank.rerank.words.limiting_words import limits_of
from moverank.rerank.words.tokenizer import Tokenizer
from moverank.rerank.words.typed_units import negates, units_of

Stated = Mapping[str, str]
"""What a text states, such as `1200 EUR`, `not safe` and `before`, with how it is first written. Keys are compared."""

FactsIn = Callable[[Sequence[int]], dict[int, "Facts"]]
"""Returns the facts of documents by id."""

_TOGETHER = 1000  # documents
_FEW = 1
"""The number of words that are no stop words up to which a text's stop words are compared, too."""


def stated(texts: Iterable[str], tokenizer: Tokenizer) -> Stated:
    """Return what the texts of a document state in the language of the tokenizer."""
    found, every = dict[str, str](), replace(tokenizer, stop_words=frozenset())
    negations = limits_of(tokenizer.language).negations
    stop_words, others, negates_words = dict[str, str](), 0, False
    for text in texts:
        for unit in units_of(text, tokenizer):
            if unit.kind == "name" and unit.value.isalpha():
                continue  # its capital depends on its place in the sentence
            if unit.kind != "word":
                found.setdefault(f"{'not ' * unit.negated}{unit.value}", text[unit.start : unit.end])
            elif unit.negated:
                found[f"not {unit.value}"] = f"not {unit.value}"
        for _, end, word in every.spans(text):
            negates_words |= negates(text, end, word, negations)
            if word in tokenizer.stop_words:
                stop_words[word] = word
            else:
                others += 1
    if negates_words and not any(one.startswith("not ") for one in found):
        found["not"] = "not"
    return found | stop_words if others <= _FEW else found


BEGINNING = 80
"""The number of characters of a text that stand for its title."""


def beginning_of(texts: Sequence[str]) -> str:
    """Return the beginning of a document's texts in one line."""
    return " ".join(" ".join(texts)[: 2 * BEGINNING].split())[:BEGINNING]


class Facts(NamedTuple):
    """What a document states, and the beginning of its text."""

    stated: Stated
    beginning: str


def stored_facts(reader: Reader, ids: Sequence[int], tokenizer: Tokenizer) -> dict[int, Facts]:
    """Return the facts of stored documents; their texts are read some at a time."""
    found = dict[int, Facts]()
    for start in range(0, len(ids), _TOGETHER):
        for id_, own in reader.texts(ids[start : start + _TOGETHER]).items():
            check_time()
            found[id_] = Facts(stated(own, tokenizer), beginning_of(own))
    return {id_: found.get(id_, Facts({}, "")) for id_ in ids}
