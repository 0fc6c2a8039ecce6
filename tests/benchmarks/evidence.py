"""Measures `compare` on SciFact: AUC of the covered share, beside BM25 and the cosine of centroids.

Corruption: in 500 abstracts, each sentence is a claim about its own abstract, with three tenths of its words left out,
which is harmless. Half of the sentences are corrupted: another number, a negation put in or taken out, a fifth of the
words from other abstracts, or the sentence deleted from the source. The AUC of a score says how often it is lower for
a corrupted sentence than for an intact one.

Claims: the AUC for claims of the test set against their abstracts and against the other abstract that BM25 ranks best.

Versions: one sentence of each abstract is moved, another one deleted; which share of their words is reported so.

Probes: `probes/` has pairs of a claim and a source by people who had not seen the program, half of them equal in
meaning and half different by one fact. A false cover is a different pair without anything uncovered. A false alarm is
an equal pair with something uncovered; by facts: with a value, a limit or another polarity. Of pairs of versions, the
words that are hidden (neither kept letter by letter nor shown) and the moved words that are found.
"""

import json
import math
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import gzip

import numpy as np

from moverank import NoKnownWords, Reranker
from moverank.rerank.distance.ground_cost import typical_cost
from moverank.rerank.ranking import Span
from moverank.rerank.words.sentence_spans import sentence_spans
from moverank.rerank.words.tokenizer import tokenizer_of
from tests.benchmarks.common import argument_parser, real, show, show_table

_AUXILIARIES = re.compile(r"\b(is|are|was|were|has|have|had|can|could|may|might|will|would|does|did|do)\b(?! not\b)")
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)?(?![\w.,]*\d)")
_WORD = re.compile(r"[A-Za-z]{3,}")
Score = Callable[[str, Sequence[str]], float]


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence to score against the sentences of a source; `kind` is "" for an intact one."""

    claim: str
    source: tuple[str, ...]
    kind: str


def auc(low: Sequence[float], high: Sequence[float]) -> float:
    """Return the probability that a value of `low` is below one of `high`; a tie counts half."""
    values = np.sort(np.array(high))
    above = len(values) - np.searchsorted(values, low, side="right")
    ties = np.searchsorted(values, low, side="right") - np.searchsorted(values, low, side="left")
    return float((above + ties / 2).sum() / (len(low) * len(high)))


class Bm25:
    """BM25 of the best sentence of a source, divided by that of the claim itself."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self._tokenizer = tokenizer_of("auto", "en")
        counts = [Counter(self._tokenizer.words(one)) for one in sentences]
        frequencies = Counter(word for one in counts for word in one)
        self._idf = {w: math.log(1 + (len(counts) - f + 0.5) / (f + 0.5)) for w, f in frequencies.items()}
        self._unseen = math.log(1 + (len(counts) + 0.5) / 0.5)
        self._mean = sum(one.total() for one in counts) / len(counts)

    def of(self, query: Counter[str], text: Counter[str]) -> float:
        """Return the score of a text, k1 1.2 and b .75."""
        norm = 1.2 * (0.25 + 0.75 * text.total() / self._mean)
        return sum(self._idf.get(w, self._unseen) * text[w] * 2.2 / (text[w] + norm) for w in query if text[w])

    def __call__(self, claim: str, source: Sequence[str]) -> float:
        """Return the share."""
        query = Counter(self._tokenizer.words(claim))
        best = max((self.of(query, Counter(self._tokenizer.words(one))) for one in source), default=0.0)
        return best / (self.of(query, query) or 1.0)


def cosine_by(reranker: Reranker) -> Score:
    """Return a score: the cosine of the centroid of a claim and that of the best sentence of a source."""
    tokenizer = tokenizer_of("auto", "en")

    def centroid(text: str) -> np.ndarray:
        _, vectors = reranker.embedding.known(tokenizer.words(text))
        return vectors.mean(axis=0) if len(vectors) else np.zeros(reranker.embedding.dim)

    def score(claim: str, source: Sequence[str]) -> float:
        own = centroid(claim)
        others = [centroid(one) for one in source]
        return max(
            (float(own @ one) / (float(np.linalg.norm(own) * np.linalg.norm(one)) or 1.0) for one in others),
            default=0.0,
        )

    return score


def covered_by(reranker: Reranker, tau: float) -> Score:
    """Return a score: the covered share."""

    def score(claim: str, source: Sequence[str]) -> float:
        try:
            evidence = reranker.evidence(claim, ["\n\n".join(source)], tau)
        except NoKnownWords:  # a heading of stop words
            return 1.0
        if not evidence.certified:
            raise SystemExit(f"not certified: {claim}")
        return evidence.covered

    return score


def cases(abstracts: Sequence[Sequence[str]], rng: random.Random) -> Iterator[Case]:
    """Yield the intact and the corrupted sentences."""
    foreign = [word for one in abstracts for sentence in one for word in _WORD.findall(sentence)]
    for sentences in abstracts:
        for i, sentence in enumerate(sentences):
            own = tuple(sentences)
            kind = rng.choice(("", "", "", "number", "negation", "words", "deletion"))
            claim = shortened(sentence, rng)
            changed = corrupted(claim, kind, foreign, rng)
            if changed is None:
                kind, changed = "", claim
            yield Case(changed, own[:i] + own[i + 1 :] if kind == "deletion" else own, kind)


def corrupted(sentence: str, kind: str, foreign: Sequence[str], rng: random.Random) -> str | None:
    """Return a sentence with a fault of this kind, None where it cannot have it."""
    if kind == "number":
        numbers = list(_NUMBER.finditer(sentence))
        if not numbers:
            return None
        one = rng.choice(numbers)
        other = str(float(one[0]) + rng.randint(1, 9)) if "." in one[0] else str(int(one[0]) + rng.randint(1, 9))
        return sentence[: one.start()] + other + sentence[one.end() :]
    if kind == "negation":
        if " not " in sentence:
            return sentence.replace(" not ", " ", 1)
        changed = _AUXILIARIES.sub(lambda found: f"{found[0]} not", sentence, count=1)
        return None if changed == sentence else changed
    if kind == "words":
        changed = _WORD.sub(lambda found: rng.choice(foreign) if rng.random() < 0.2 else found[0], sentence)
        return None if changed == sentence else changed
    return sentence


def shortened(sentence: str, rng: random.Random) -> str:
    """Return a sentence without three tenths of its words; numbers and negations stay."""
    words = sentence.split()
    stays = [any(char.isdigit() for char in word) or word.lower() in ("no", "not", "without") for word in words]
    return " ".join([w for w, stay in zip(words, stays, strict=True) if stay or rng.random() < 0.7] or words)


def main() -> int:
    """Print the tables."""
    parser = argument_parser(__doc__)
    parser.add_argument("--abstracts", type=int, default=500, help="number of abstracts (500)")
    parser.add_argument("--shares", type=float, nargs="*", default=[0.6], help="limits of the cost (.6)")
    options = parser.parse_args()
    reranker = Reranker.load(str(real("vectors", "minilm-words-200d.bin")))
    with gzip.open(real("data", "scifact", "docs.jsonl.gz"), "rt", encoding="utf-8") as file:
        documents = {one["id"]: one for one in map(json.loads, file)}
    texts = random.Random(0).sample(sorted(documents), options.abstracts)  # noqa: S311 - a sample, no secret
    abstracts = [[t[a:b] for a, b in sentence_spans(t)] for t in (documents[key]["text"] for key in texts)]
    typical = typical_cost(reranker.embedding)
    scores: dict[str, Score] = {
        f"covered, {share:g}": covered_by(reranker, share * typical) for share in options.shares
    }
    scores |= {"BM25": Bm25([one for some in abstracts for one in some]), "cosine": cosine_by(reranker)}
    corruption(list(cases(abstracts, random.Random(1))), scores)  # noqa: S311 - faults, no secret
    claims(documents, scores)
    versions(abstracts, reranker)
    probes()
    return 0


def probes() -> None:
    """Print the false covers and false alarms of the probes, and what of versions is hidden and found."""
    rows, folder = [], Path(__file__).parent / "probes"
    vectors = str(real("vectors", "minilm-words-200d.bin"))
    rerankers = {language: Reranker.load(vectors, language=language) for language in ("en", "de", "fr")}
    for language, reranker in rerankers.items():
        lines = (folder / f"pairs_{language}.jsonl").read_text("utf-8").splitlines()
        counts, kinds = Counter[str](), Counter[str]()
        for pair in map(json.loads, lines):
            reasons = {one.reason for one in reranker.evidence(pair["claim"], [pair["source"]]).uncovered}
            counts["equal" if pair["covered"] else "different"] += 1
            if pair["covered"]:
                counts["alarms"] += bool(reasons)
                counts["by facts"] += bool(reasons & {"value", "limit", "polarity"})
            elif not reasons:
                kinds[pair["kind"]] += 1
        covers = f"{kinds.total()}: {', '.join(f'{kind} {count}' for kind, count in kinds.items())}"
        rows.append([language, *(counts[name] for name in ("equal", "alarms", "by facts", "different")), covers])
    show("probes: pairs of a claim and a source")
    show_table(["language", "equal", "alarms", "by facts", "different", "false covers"], rows)
    hidden = right = told = moved = 0
    for pair in map(json.loads, (folder / "versions.jsonl").read_text("utf-8").splitlines()):
        changes = rerankers[pair.get("language", "en")].changes(pair["old"], pair["new"])
        shown = set[int]()
        for one in changes.changes:
            if one.state in ("kept", "moved") and one.old and one.new:
                old, new = (pair[name][s.start : s.end] for name, s in (("old", one.old), ("new", one.new)))
                hidden += old.split() != new.split()
            shown |= set(range(one.new.start, one.new.end)) if one.new else set()
        hidden += sum(word.start() not in shown for word in re.finditer(r"\w+", pair["new"]))
        found = {i for one in changes.changes if one.state == "moved" and one.new for i in _words(pair, one.new)}
        gold = set[int]()
        for sentence in pair["moved"]:
            start = pair["new"].find(sentence)
            gold |= _words(pair, Span(None, start, start + len(sentence))) if start >= 0 else set()
        if gold:
            right, told, moved = right + len(gold & found), told + len(found), moved + len(gold)
    found_moves = f"moved words: precision {right / told:.3f}, recall {right / moved:.3f}"
    show(f"versions of the probes: {hidden} words hidden; {found_moves}")


def _words(pair: dict[str, str], span: Span) -> set[int]:
    """Return where the words of a stretch of the new version begin."""
    return {span.start + word.start() for word in re.finditer(r"\w+", pair["new"][span.start : span.end])}


def corruption(found: Sequence[Case], scores: dict[str, Score]) -> None:
    """Print the AUC by kind."""
    kinds = ("number", "negation", "words", "deletion")
    rows = []
    for name, score in scores.items():
        began, values = time.perf_counter(), {kind: list[float]() for kind in ("", *kinds)}
        for case in found:
            values[case.kind].append(score(case.claim, case.source))
        aucs = [f"{auc(values[kind], values['']):.3f}" for kind in kinds]
        rows.append([name, *aucs, f"{time.perf_counter() - began:.0f}"])
    counts = Counter(case.kind for case in found)
    show(f"AUC by kind: {counts['']:,} intact sentences, " + ", ".join(f"{counts[k]:,} {k}" for k in kinds))
    show_table(["score", *kinds, "seconds"], rows)


def claims(documents: dict[str, dict[str, str]], scores: dict[str, Score]) -> None:
    """Print the AUC of claims against their abstracts and against the best other ones of BM25."""
    folder = real("data", "scifact")
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines():
        query, _, document, value = line.split("\t")
        if int(value) > 0:
            relevant.setdefault(query, set()).add(document)
    lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
    queries = {one["id"]: one["text"] for one in map(json.loads, lines)}
    whole = {key: f"{one['title']}. {one['text']}" for key, one in documents.items()}
    bm25, tokenizer = Bm25(list(whole.values())), tokenizer_of("auto", "en")
    counts = {key: Counter(tokenizer.words(text)) for key, text in whole.items()}
    pairs: list[tuple[str, str, bool]] = []
    for query, keys in relevant.items():
        own = Counter(tokenizer.words(queries[query]))
        best = max((key for key in whole if key not in keys), key=lambda key: bm25.of(own, counts[key]))
        pairs += [(queries[query], documents[key]["text"], True) for key in sorted(keys)]
        pairs.append((queries[query], documents[best]["text"], False))
    rows = []
    for name, score in scores.items():
        values = [(score(claim, [text[a:b] for a, b in sentence_spans(text)]), is_own) for claim, text, is_own in pairs]
        low, high = ([value for value, own in values if own == wanted] for wanted in (False, True))
        rows.append([name, f"{auc(low, high):.3f}", f"{np.mean(high):.3f}", f"{np.mean(low):.3f}"])
    show(f"\nclaims: {sum(own for *_, own in pairs)} abstracts of claims, {len(relevant)} others that BM25 ranks best")
    show_table(["score", "AUC", "mean, own", "mean, other"], rows)


def versions(abstracts: Sequence[Sequence[str]], reranker: Reranker) -> None:
    """Print how much of a moved and of a deleted sentence is reported so, and the AUC against all others."""
    rng = random.Random(2)  # noqa: S311 - places, no secret
    states = ("moved", "dropped")
    shares = {(state, own): list[float]() for state in states for own in (False, True)}
    for sentences in abstracts:
        if len(sentences) < 5:
            continue
        moved, deleted = rng.sample(range(len(sentences)), 2)
        place = rng.choice([i for i in range(len(sentences)) if abs(i - moved) > 1])
        kept = [(i + 0.0 if i != moved else place + 0.5, one) for i, one in enumerate(sentences) if i != deleted]
        new = " ".join(one for _, one in sorted(kept, key=lambda one: one[0]))
        old, starts = " ".join(sentences), [0, *accumulate(len(one) + 1 for one in sentences)]
        changes = reranker.changes(old, new).changes
        for i, (start, end) in enumerate(pairwise(starts)):
            inside = [one for one in changes if one.old is not None and start <= one.old.start < end]
            units = sum(one.units for one in inside)
            for state, number in zip(states, (moved, deleted), strict=True):
                found = sum(one.units for one in inside if one.state == state)
                shares[state, i == number].append(found / (units or 1))
    show(f"\nversions of {len(shares['moved', True]):,} abstracts: a moved and a deleted sentence against all others")
    rows = []
    for state in states:
        own, others = shares[state, True], shares[state, False]
        rows.append([state, f"{np.mean(own):.3f}", f"{np.mean(others):.3f}", f"{auc(others, own):.3f}"])
    show_table(["reported as", "mean share", "of others", "AUC"], rows)


if __name__ == "__main__":
    sys.exit(main())
