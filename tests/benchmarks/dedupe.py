"""Deduplication beside MinHash (datasketch): judged duplicates by the largest distance, and planted copies of texts.

Judged: the questions of SemEval-2016 task 3 with their related threads, and of two Stack Exchange sites; a pair is a
duplicate if people judged it so ("perfect match", or closed as a duplicate). For SemEval only judged pairs count.
Planted: texts of 20news with copies of which a share of the words is replaced, or the sentences are moved.
"""

import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import numpy as np
from datasketch import MinHash, MinHashLSH

from moverank import Collection, Document, Part, Settings
from moverank.indexer.formatters.progress import Bars
from tests.benchmarks.common import any_missed, argument_parser, gzip_records, real, show, show_table, vectors, verdict

Pair = frozenset[str]

DISTANCES = (0.1, 0.3, 0.5, 0.9, 1.0, 1.1, 1.15, 1.2)
JACCARD = (0.9, 0.7, 0.5, 0.3, 0.2, 0.15, 0.1)
PLANTED = (0.05, 0.1, 0.2, 0.3)
_PERMUTATIONS = 256
_ORIGINALS = 500
_REMOVING = (
    0.5  # the largest distance by which documents are removed here: judged pairs that are farther are paraphrases
)


def stack_exchange(site: str) -> tuple[dict[str, str], set[Pair], None]:
    """Return the questions of a site by key, the pairs that are duplicates, and None: all pairs count."""
    folder = real("data", f"stackexchange_{site}")
    texts = {
        each["id"]: f"{each['title']} {each.get('body', '')}" for each in gzip_records(folder / "threads.jsonl.gz")
    }
    rows = [line.split() for line in (folder / "qrels.tsv").read_text().splitlines()]
    return texts, {frozenset((query, key)) for query, _, key, level in rows if level == "2"}, None


def semeval() -> tuple[dict[str, str], set[Pair], set[Pair]]:
    """Return queries and threads by key, the pairs that are duplicates, and all judged pairs."""
    folder = real("data", "semeval_cqa")
    records = [*map(json.loads, (folder / "queries.jsonl").read_text().splitlines())]
    texts = {each["id"]: f"{each['title']} {each.get('body', '')}" for each in records}
    threads = gzip_records(folder / "threads.jsonl.gz")
    texts |= {each["id"]: f"{each['title']} {each.get('body', '')}" for each in threads}
    rows = [
        line.split() for name in ("dev", "train2") for line in (folder / f"qrels_{name}.tsv").read_text().splitlines()
    ]
    judged = {frozenset((query, key)) for query, _, key, _ in rows}
    return texts, {frozenset((query, key)) for query, _, key, level in rows if level == "2"}, judged


def signatures(texts: Mapping[str, str], size: int) -> dict[str, MinHash]:
    """Return the MinHash of each text's sequences of so many words."""
    found = {}
    for key, text in texts.items():
        words = re.findall(r"\w+", text.lower())
        found[key] = MinHash(_PERMUTATIONS)
        found[key].update_batch([" ".join(words[i : i + size]).encode() for i in range(max(1, len(words) - size + 1))])
    return found


def filled(directory: Path, texts: Mapping[str, str]) -> Collection:
    """Return a collection of the texts, in their order."""
    collection = Collection.create(directory, Settings(embedding=str(vectors())))
    collection.index(Document(key, parts=(Part(text),)) for key, text in texts.items())
    return collection


def judged_rows(name: str, texts: Mapping[str, str], same: set[Pair], judged: set[Pair] | None) -> Iterator[list[str]]:
    """Yield precision and recall by distance, then by estimated Jaccard similarity."""
    with tempfile.TemporaryDirectory() as directory, filled(Path(directory) / "index", texts) as collection:
        with Bars() as bars:
            found = collection.pairs(DISTANCES[-1], rank="wmd", progress=bars)
        by_distance = {frozenset(pair.keys): pair.distance for pair in found.pairs}
        for within in DISTANCES:
            removed = len(collection.dedupe(within, rank="wmd").removed) if within <= _REMOVING else None
            near = {pair for pair, distance in by_distance.items() if distance <= within}
            yield [name, f"D {within:g}", *_measured(near, same, judged), "" if removed is None else str(removed)]
    hashes = signatures(texts, 1)
    alike = {frozenset(pair): hashes[pair[0]].jaccard(hashes[pair[1]]) for pair in combinations(texts, 2)}
    for least in JACCARD:
        near = {pair for pair, value in alike.items() if value >= least}
        yield [name, f"MinHash {least:g}", *_measured(near, same, judged), ""]


def _measured(near: set[Pair], same: set[Pair], judged: set[Pair] | None) -> list[str]:
    """Return the number of pairs that count, precision, recall and F1."""
    near = near if judged is None else near & judged
    hits = len(near & same)
    precision, recall = hits / len(near) if near else 0.0, hits / len(same)
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    return [f"{len(near):,}", f"{precision:.3f}" if near else "-", f"{recall:.3f}", f"{f1:.3f}"]


def copies_of(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return edited copies of each text by the kind of the edit."""
    rng = np.random.default_rng(0)
    pool = np.array(" ".join(texts).split())

    def replaced(text: str, share: float) -> str:
        words = text.split()
        count = max(1, round(share * len(words)))
        for place in rng.choice(len(words), min(count, len(words)), replace=False).tolist():
            words[place] = str(rng.choice(pool))
        return " ".join(words)

    def moved(text: str) -> str:
        return " ".join(rng.permutation(np.array(re.split(r"(?<=[.!?])\s+", text.strip()), object)).tolist())

    return {
        "1 word replaced": [replaced(text, 0) for text in texts],
        "5 % of words": [replaced(text, 0.05) for text in texts],
        "20 % of words": [replaced(text, 0.2) for text in texts],
        "sentences moved": [moved(text) for text in texts],
    }


def planted_rows() -> Iterator[list[str]]:
    """Yield the shares of the planted copies that are removed, by kind, and the number of originals removed."""
    every = [each["text"] for each in gzip_records(next(real("data", "20news").glob("*.gz")))]
    texts = [text for text in every if 40 <= len(text.split()) <= 600][:: len(every) // _ORIGINALS][:_ORIGINALS]
    kinds = copies_of(texts)
    named = {f"original {i}": text for i, text in enumerate(texts)}
    named |= {f"{kind}/{i}": text for kind, own in kinds.items() for i, text in enumerate(own)}
    with tempfile.TemporaryDirectory() as directory, filled(Path(directory) / "index", named) as collection:
        for within in PLANTED:
            with Bars() as bars:
                removed = {one.key for one in collection.dedupe(within, rank="wmd", progress=bars).removed}
            yield [f"D {within:g}", *_shares(removed, kinds, len(texts))]
    for size in (1, 3):
        hashes = signatures(named, size)
        for least in JACCARD[:3]:
            yield [f"MinHash {least:g}, {size} words", *_shares(_by_lsh(hashes, least), kinds, len(texts))]


def _by_lsh(hashes: Mapping[str, MinHash], least: float) -> set[str]:
    """Return the keys that are removed if each is kept unless a kept one is as similar, by MinHash LSH."""
    index, removed = MinHashLSH(least, _PERMUTATIONS), set()
    for key, own in hashes.items():
        if any(own.jaccard(hashes[other]) >= least for other in index.query(own)):
            removed.add(key)
        else:
            index.insert(key, own)
    return removed


def _shares(removed: set[str], kinds: Iterable[str], originals: int) -> list[str]:
    own = [sum(key.startswith(f"{kind}/") for key in removed) / originals for kind in kinds]
    return [*(f"{share:.3f}" for share in own), str(sum(key.startswith("original") for key in removed))]


def main() -> int:
    """Print the tables; return 1 if a moved or barely edited copy is missed."""
    argument_parser(__doc__).parse_args()
    heads = ("set", "pairs within", "pairs", "precision", "recall", "F1", "removed")
    sets = {"semeval": semeval()} | {name: stack_exchange(name) for name in ("quantumcomputing", "bicycles_meta")}
    for name, (texts, same, _) in sets.items():
        show(f"{name}: {len(texts):,} questions, {len(same):,} pairs of duplicates")
    show_table(heads, [row for name, given in sets.items() for row in judged_rows(name, *given)])
    rows = list(planted_rows())
    show()
    show_table(("removed by", "1 word", "5 %", "20 %", "moved", "originals"), rows)
    met = verdict(float(rows[2][1]) >= 0.99 and float(rows[0][4]) == 1)
    show(
        f"99 % of the copies with one word replaced (D 0.2), and all with sentences moved (D 0.05), are removed: {met}"
    )
    return int(any_missed([[met]]))


if __name__ == "__main__":
    sys.exit(main())
