"""Measures `compare` on SciFact: AUC of the covered share, beside BM25 and the cosine of centroids.

Corruption: in 500 abstracts, each sentence is a claim about its own abstract, with three tenths of its words left out,
which is harmless. Half of the sentences are corrupted: another number, a negation put in or taken out, a fifth of the
words from other abstracts, or the sentence deleted from the source. The AUC of a score says how often it is lower for
a corrupted sentence than for an intact one.

Claims: the AUC for claims of the test set against their abstracts, the other abstract that BM25 ranks best, and a
random one.

Versions: one sentence of each abstract is moved, another one deleted; which share of their words is reported so. Real
versions: pages of this manual, some revisions apart, beside git. Nearness: judged pairs of words by `tau`.

Probes: `probes/` has pairs of a claim and a source by people who had not seen the program, half of them equal in
meaning and half different by one fact. `pairs` are free paraphrases; `facts` have the same words but for the fact,
which is written in another way. A false cover is a different pair without anything uncovered. A false alarm is an
equal pair with something uncovered; by facts: with a value, a limit or another polarity. Of pairs of versions, the
words that are hidden (neither kept letter by letter nor shown) and the moved words that are found.
"""

import json
import math
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import gzip

import numpy as np

from moverank import NoKnownWords, Reranker
from moverank.rerank.distance.ground_cost import typical_cost
from moverank.rerank.plugins.evidence.allowed_arcs import Said, allowed_arcs
from moverank.rerank.plugins.evidence.text_changes import TextChange
from moverank.rerank.ranking import Span
from moverank.rerank.words.sentence_spans import sentence_spans
from moverank.rerank.words.tokenizer import tokenizer_of
from moverank.rerank.words.typed_units import units_of
from moverank.rerank.words.unit import Unit
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
    """Return a sentence without three tenths of its words; numbers, limits, names and negations stay."""
    words = sentence.split()
    sentence = " ".join(words)
    facts = {i for one in units_of(sentence, _TOKENIZER) if one.kind != "word" for i in range(one.start, one.end)}
    starts = accumulate((len(word) + 1 for word in words), initial=0)
    facts_at = [
        any(i in facts for i in range(start, start + len(word))) for start, word in zip(starts, words, strict=False)
    ]
    stays = [fact or word.lower() in ("no", "not", "without") for fact, word in zip(facts_at, words, strict=True)]
    return " ".join([w for w, stay in zip(words, stays, strict=True) if stay or rng.random() < 0.7] or words)


_TOKENIZER = tokenizer_of("auto", "en")


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
    real_versions(reranker)
    nearness(reranker)
    probes()
    return 0


def probes() -> None:
    """Print the false covers and false alarms of the probes."""
    rows, folder = [], Path(__file__).parent / "probes"
    vectors = str(real("vectors", "minilm-words-200d.bin"))
    rerankers = {language: Reranker.load(vectors, language=language) for language in ("en", "de", "fr")}
    for language, reranker in rerankers.items():
        for name, some in probe_sets(folder, language).items():
            counts, kinds = Counter[str](), Counter[str]()
            for pair in some:
                reasons = {one.reason for one in reranker.evidence(pair["claim"], [pair["source"]]).uncovered}
                counts["equal" if pair["covered"] else "different"] += 1
                if pair["covered"]:
                    counts["alarms"] += bool(reasons)
                    counts["by facts"] += bool(reasons & {"value", "limit", "polarity"})
                elif not reasons:
                    kinds[pair["kind"]] += 1
            covers = f"{kinds.total()}: {', '.join(f'{kind} {count}' for kind, count in kinds.items())}"
            columns = (counts[one] for one in ("equal", "alarms", "by facts", "different"))
            rows.append([language, name, *columns, covers])
    show("probes: pairs of a claim and a source")
    show_table(["language", "set", "equal", "alarms", "by facts", "different", "false covers"], rows)
    versions_of_probes(folder, rerankers)


def versions_of_probes(folder: Path, rerankers: dict[str, Reranker]) -> None:
    """Print what the changes of pairs of versions hide, and which moves they find."""
    hidden = right = told = moved = 0
    for pair in map(json.loads, (folder / "versions.jsonl").read_text("utf-8").splitlines()):
        changes = rerankers[pair.get("language", "en")].changes(pair["old"], pair["new"])
        hidden += hidden_words(pair["old"], pair["new"], changes.changes)
        found = {i for one in changes.changes if one.state == "moved" and one.new for i in _words(pair, one.new)}
        gold = set[int]()
        for sentence in pair["moved"]:
            start = pair["new"].find(sentence)
            gold |= _words(pair, Span(None, start, start + len(sentence))) if start >= 0 else set()
        if gold:
            right, told, moved = right + len(gold & found), told + len(found), moved + len(gold)
    found_moves = f"moved words: precision {right / told:.3f}, recall {right / moved:.3f}"
    show(f"versions of the probes: {hidden} words hidden; {found_moves}")


def probe_sets(folder: Path, language: str) -> dict[str, list[dict[str, Any]]]:
    """Return the probes of a language by set."""
    found: dict[str, list[dict[str, Any]]] = {}
    for kind in ("pairs", "facts"):
        for pair in map(json.loads, (folder / f"{kind}_{language}.jsonl").read_text("utf-8").splitlines()):
            found.setdefault(f"{kind} {pair.get('set', '')}".strip(), []).append(pair)
    return found


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
    pairs: list[tuple[str, str, str]] = []
    rng, others = random.Random(3), sorted(documents)  # noqa: S311 - a sample, no secret
    for query, keys in relevant.items():
        own = Counter(tokenizer.words(queries[query]))
        best = max((key for key in whole if key not in keys), key=lambda key: bm25.of(own, counts[key]))
        pairs += [(queries[query], documents[key]["text"], "own") for key in sorted(keys)]
        pairs.append((queries[query], documents[best]["text"], "best other"))
        pairs.append((queries[query], documents[rng.choice(others)]["text"], "random"))
    rows = []
    for name, score in scores.items():
        values: dict[str, list[float]] = {"own": [], "best other": [], "random": []}
        for claim, text, kind in pairs:
            values[kind].append(score(claim, [text[a:b] for a, b in sentence_spans(text)]))
        aucs = [f"{auc(values[kind], values['own']):.3f}" for kind in ("best other", "random")]
        rows.append([name, *aucs, *(f"{np.mean(some):.3f}" for some in values.values())])
    show(f"\nclaims: {len(relevant)} claims, each with its own abstracts, the best other one by BM25, and a random one")
    show_table(["score", "AUC, best other", "AUC, random", "mean, own", "mean, best other", "mean, random"], rows)


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


_ROOT = Path(__file__).parents[2]
_REVISIONS = 10  # of a page between two versions
_PAIRS = 20
_REPLACED = 0.2


def real_versions(reranker: Reranker) -> None:
    """Print what of pairs of versions of this manual is shown and hidden, beside `git diff --word-diff`; and moves.

    A paragraph of a version is moved, and a fifth of its words replaced. It is found if most of its words in the new
    version, but for the replaced ones, are moved; by git if most of its lines are coloured as moved.
    """
    rng, rows, moves = random.Random(4), [], {"moverank": Counter[str](), "git": Counter[str]()}  # noqa: S311
    for name, old, new in page_versions():
        changes = reranker.changes(old, new)
        states = {state: changes.counts[state] for state in ("new", "dropped", "moved", "changed")}
        gone, come = git_words(old, new)
        rows.append([name, *states.values(), hidden_words(old, new, changes.changes), gone, come])
        moved, place = with_moved_paragraph(new, rng)
        found = set(moved_paragraphs(moved, reranker.changes(new, moved).changes))
        for program, some in (("moverank", found), ("git", set(git_moved_paragraphs(new, moved)))):
            moves[program].update(found=len(some), right=place in some, moved=1)
    show(f"\n{len(rows)} pairs of versions of this manual: words by state, hidden words, and words of git's word diff")
    show_table(["page", "new", "dropped", "moved", "changed", "hidden", "git: dropped", "git: new"], rows)
    for program, one in moves.items():
        f1 = 2 * one["right"] / (one["found"] + one["moved"])
        show(f"moved paragraphs with a fifth of the words replaced, {program}: {dict(one)}, F1 {f1:.3f}")


def git(*arguments: str) -> str:
    """Return what git prints; it exits with 1 if two files differ."""
    command = ("git", "-c", "core.quotepath=off", *arguments)
    return subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False).stdout


def page_versions() -> Iterator[tuple[str, str, str]]:
    """Yield pages of this manual with two versions of each, some revisions apart."""
    pages = sorted((_ROOT / "indexer" / "manual").glob("*.md"))
    history = {page.name: git("log", "--format=%h", "--", str(page)).split() for page in pages}
    pairs = [
        (name, revisions[i + _REVISIONS], revisions[i])
        for name, revisions in history.items()
        for i in range(0, len(revisions) - _REVISIONS, _REVISIONS)
    ]
    for name, before, after in sorted(pairs)[:_PAIRS]:
        old, new = (git("show", f"{revision}:indexer/manual/{name}") for revision in (before, after))
        if old and new:
            yield name, old, new


def hidden_words(old: str, new: str, changes: Sequence[TextChange]) -> int:
    """Return the number of words that a list of changes leaves out, or shows as kept or moved though they differ."""
    hidden = 0
    shown: tuple[set[int], set[int]] = (set(), set())
    for one in changes:
        for places, span in zip(shown, (one.old, one.new), strict=True):
            places |= set(range(span.start, span.end)) if span else set()
        if one.state in ("kept", "moved") and one.old and one.new:
            hidden += old[one.old.start : one.old.end].split() != new[one.new.start : one.new.end].split()
    for places, text in zip(shown, (old, new), strict=True):
        hidden += sum(word.start() not in places for word in re.finditer(r"\S+", text))
    return hidden


def git_words(old: str, new: str) -> tuple[int, int]:
    """Return the number of words that `git diff --word-diff` shows as dropped and as new."""
    lines = git_diff(old, new, "--word-diff=porcelain").splitlines()
    counts = [
        sum(len(line[1:].split()) for line in lines if re.match(rf"\{sign}(?!\{sign}\{sign} )", line)) for sign in "-+"
    ]
    return counts[0], counts[1]


def git_diff(old: str, new: str, *options: str) -> str:
    """Return what `git diff` prints of two texts."""
    with TemporaryDirectory() as directory:
        files = [Path(directory, name) for name in ("old", "new")]
        for file, text in zip(files, (old, new), strict=True):
            file.write_text(text, encoding="utf-8")
        return git("diff", "--no-index", "--unified=100000", *options, *map(str, files))


def paragraphs(text: str) -> list[tuple[int, int]]:
    """Return start and end of each paragraph of several lines or many words."""
    return [one.span() for one in re.finditer(r"(?:(?!\n\s*\n).)+", text, re.DOTALL)]


def with_moved_paragraph(text: str, rng: random.Random) -> tuple[str, int]:
    """Return a text with one paragraph moved and a fifth of its words replaced, and where it begins there.

    It passes at least twice as many words as it has: otherwise, what it passes would rather be what moved.
    """
    blocks = [text[start:end] for start, end in paragraphs(text)]
    sizes = [len(block.split()) for block in blocks]
    moved = rng.choice([i for i, size in enumerate(sizes) if 30 <= size <= sum(sizes) / 6])
    others = [i for i in range(len(blocks)) if sum(sizes[min(i, moved) : max(i, moved)]) >= 3 * sizes[moved]]
    words, every = re.split(r"(\s+)", blocks[moved]), text.split()
    changed = "".join(w if not w.strip() or rng.random() > _REPLACED else rng.choice(every) for w in words)
    order = [block for i, block in enumerate(blocks) if i != moved]
    place = rng.choice(others)
    order.insert(place, changed)
    return "\n\n".join(order), sum(len(block) + 2 for block in order[:place])


def moved_paragraphs(new: str, changes: Sequence[TextChange]) -> Iterator[int]:
    """Yield the starts of the paragraphs of which most words that both versions have are moved."""
    states = dict[int, str]()
    for one in changes:
        if one.new is not None:
            states |= dict.fromkeys(range(one.new.start, one.new.end), one.state)
    for start, end in paragraphs(new):
        counts = Counter(states.get(start + word.start(), "") for word in re.finditer(r"\S+", new[start:end]))
        if counts["moved"] > counts["kept"] and counts["moved"] >= 10:
            yield start


def git_moved_paragraphs(old: str, new: str) -> Iterator[int]:
    """Yield the starts of the paragraphs of which most lines are coloured as moved by `git diff --color-moved`."""
    lines = git_diff(old, new, "--color=always", "--color-moved=plain").splitlines()
    moved = {re.sub(r"\x1b\[[\d;]*m", "", line)[1:] for line in lines if re.match(r"(?:\x1b\[1;36m|\x1b\[36m)\+", line)}
    for start, end in paragraphs(new):
        own = new[start:end].splitlines()
        if sum(line in moved for line in own) > len(own) / 2:
            yield start


_DRUGS = "hydroxyzine/hydralazine aspirin/ibuprofen penicillin/amoxicillin prednisone/prednisolone warfarin/heparin"


def nearness(reranker: Reranker) -> None:
    """Print how many word pairs of SimLex-999 (Hill et al. 2015) are carried by `tau`, and drugs that are not."""
    import gensim

    file = Path(gensim.__file__).parent / "test" / "test_data" / "simlex999.txt"
    rows, found, typical = [], list[tuple[float, float]](), typical_cost(reranker.embedding)
    for line in file.read_text("utf-8").splitlines():
        first, second, judged = [*line.split("\t"), "", ""][:3]
        if judged.replace(".", "").isdigit() and all(reranker.embedding.known([first, second])[0]):
            found.append((cost_of(reranker, first, second) / typical, float(judged)))
    for share in (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8):
        judged_near = [judged for cost, judged in found if cost <= share]
        good = sum(judged >= 7 for judged in judged_near)
        recall = good / sum(judged >= 7 for _, judged in found)
        rows.append([f"{share:g}", len(judged_near), f"{good / (len(judged_near) or 1):.3f}", f"{recall:.3f}"])
    show(f"\n{len(found)} pairs of words of SimLex-999 by the share of the typical cost; similar: 7 of 10 or more")
    show_table(["share", "carried", "precision", "recall"], rows)
    pairs = [pair.split("/") for pair in _DRUGS.split()]
    carried = [pair for pair in pairs if not reranker.evidence(f"It was {pair[0]}.", [f"It was {pair[1]}."]).uncovered]
    show(f"of {len(pairs)} pairs of drugs, carried: {len(carried)}")


def cost_of(reranker: Reranker, first: str, second: str) -> float:
    """Return the cost of two words; infinite if one is the contrary of the other."""
    one, other = ((Unit(0, 1, "word", word).key,) for word in (first, second))
    _, _, cost = allowed_arcs(Said(one, other, "en"), reranker.embedding, math.inf)
    return float(cost[0]) if len(cost) else math.inf


if __name__ == "__main__":
    sys.exit(main())
