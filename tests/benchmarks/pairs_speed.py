"""Measures the nearest pairs of 20 Newsgroups, now and in a git revision, in turns.

A run is a process; its seconds and CPU seconds are compared with those of the other version in the same turn.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank.rerank.bags.weights import inverse_document_frequency, with_factors
from tests.benchmarks.common import any_missed, show, show_table, vectors, verdict
from tests.benchmarks.comparison_input import ComparisonInput
from tests.benchmarks.data_sets import read_split
from tests.benchmarks.revisions import NOW, comparing_parser, in_turns, median_ratio, run_version, versions
from tests.oracle import Oracle

HEADS = ("nearest pairs", "before", "now", "now / before", "target", "")
RATIO = 0.11
"""Target: the share of the time before, for all documents."""


def write_input(path: Path, documents: int) -> int:
    """Write the bags of documents, with tf-idf weights, as arrays; return how many there are."""
    texts = [text for split in ("train", "test") for text in read_split("20news", split)]
    rows = np.sort(np.random.default_rng(0).permutation(len(texts))[:documents]).tolist()
    data = ComparisonInput.of(Oracle(vectors()), [texts[row] for row in rows], [])
    frequencies = np.bincount(data.bags.words, minlength=len(data.words))
    bags = with_factors(data.bags, inverse_document_frequency(frequencies, len(data.bags)))
    np.savez(path, starts=bags.starts, words=bags.words, weights=bags.weights, vectors=data.vectors)
    return len(bags)


def _same(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Return whether both versions find the same pairs; equal distances, up to rounding, have any order."""
    old, new = (np.array(run["distances"]) for run in (before, now))
    if len(old) != len(new) or not np.allclose(old, new, rtol=0, atol=1e-9):
        return False
    nearer = [
        {
            tuple(pair)
            for pair, distance in zip(run["pairs"], run["distances"], strict=True)
            if distance < old[-1] - 1e-9
        }
        for run in (before, now)
    ]
    return nearer[0] == nearer[1]


def main() -> None:
    """Print the table; exit with 1 if the target is missed, or if the versions find different pairs."""
    parser = comparing_parser(__doc__, "fe522c2", pairs=1)
    parser.add_argument("--documents", type=int, default=18846, help="drawn from all 18,846 (all)")
    parser.add_argument("-k", type=int, default=1000, help="number of pairs (1000)")
    arguments = parser.parse_args()
    script = Path(__file__).with_name("pairs_process.py")
    with versions(arguments.before) as roots, TemporaryDirectory() as name:
        data = Path(name, "input.npz")
        count = write_input(data, arguments.documents)
        before, now = in_turns(
            roots.values(),
            range(arguments.pairs),
            lambda root, _: run_version(root, [script, data, str(arguments.k)]).objects[0],
        )
    lines: list[list[object]] = []
    for label, field, target in (
        ("seconds", "seconds", RATIO),
        ("CPU seconds", "cpu", 0.0),
        ("problems", "solved", 0.0),
    ):
        old, new = ([float(run[field]) for run in each] for each in (before, now))
        ratio = median_ratio(new, old)
        asked = [f"<= {target}", verdict(ratio <= target)] if target else ["", ""]
        lines.append([label, f"{min(old):.1f}", f"{min(new):.1f}", f"{ratio:.3f}", *asked])
    same = _same(before[0], now[0])
    show(f"Before: {arguments.before}; {NOW}: the working tree. {count:,} documents, {arguments.k:,} pairs.")
    show_table(HEADS, lines)
    show(f"Both find {'the same' if same else 'DIFFERENT'} pairs.")
    sys.exit(any_missed(lines) or not same)


if __name__ == "__main__":
    main()
