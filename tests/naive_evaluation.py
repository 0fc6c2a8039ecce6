"""Reference implementations of the evaluation: plain loops over the definitions."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product


def average_precision(ranked: Sequence[str], grades: Mapping[str, int]) -> float:
    """Return the mean precision at each relevant document."""
    relevant = {key for key, grade in grades.items() if grade > 0}
    total = 0.0
    for rank in range(1, len(ranked) + 1):
        if ranked[rank - 1] in relevant:
            total += len(relevant.intersection(ranked[:rank])) / rank
    return total / len(relevant)


def ndcg(ranked: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """Return the discounted gain divided by that of the ideal ranking."""
    gains = [max(0, grades.get(key, 0)) for key in ranked]
    best = sorted((max(0, grade) for grade in grades.values()), reverse=True)
    actual, ideal = (
        math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(side[:k], start=1)) for side in (gains, best)
    )
    return actual / ideal


def vote(labels: Sequence[int], k: int) -> int:
    """Return the label with at least half of the votes of the k nearest; while there is none, drop the two farthest."""
    voters = [label for label in labels[:k] if label >= 0]
    while voters:
        counts = Counter(voters)
        most = max(counts.values())
        if 2 * most >= len(voters):
            return next(label for label in voters if counts[label] == most)
        voters = voters[:-2]
    return -1


def sign_test(differences: Sequence[float]) -> float:
    """Return the share of all sign vectors whose mean is at least as far from 0."""
    observed, as_far, total = abs(math.fsum(differences)), 0, 0
    for signs in product((1, -1), repeat=len(differences)):
        total += 1
        as_far += abs(math.fsum(s * d for s, d in zip(signs, differences, strict=True))) >= observed - 1e-12
    return as_far / total


def mutual_proximity(distances: Sequence[Sequence[float]], x: int, y: int) -> float:
    """Return the share of documents that are farther from both than they are from each other; x is a query."""
    others = [j for j in range(len(distances)) if j != x]
    farther = [j for j in others if j != y and distances[x][j] > distances[x][y] and distances[y][j] > distances[x][y]]
    return len(farther) / len(others)
