"""Verifies a proof of a search by Word Mover's Distance: `python verify.py FILE [--digest R] [-k K]`.

The format is on the page `proofs` of moverank's manual, as are the letters that stand for sizes. This module imports
nothing of moverank: a copy runs alone, with numpy.

Rounding: u is 2^-53. A sum of n products, in any order, is off by at most about n u times the sum of their absolute
values, a single operation by u times its result (Higham 2002, sections 2.2 and 3.1). Every bound is moved outward by
more than all of these errors. Squares of float32 values neither overflow nor underflow in float64.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from math import fsum, isfinite, prod
from pathlib import Path
from stat import S_ISREG
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

MAGIC = "moverank-proof 1 "
ARRAYS = [  # name, type and shape
    array.split(maxsplit=2)
    for array in (
        "word_starts <i8 v+1, key_starts <i8 n+1, bag_starts <i8 n+1, bag_weights <f8 e, query_weights <f8 h, "
        "hits <i8 m, distances <f8 m, plan_starts <i8 m+1, plan_mass <f8 p, potentials <f8 r h, vectors <f4 v d, "
        "bag_words <i4 e, query_words <i4 h, plan_query <i4 p, plan_document <i4 p, potential_of <i4 n, "
        "word_bytes |u1 a, key_bytes |u1 b"
    ).split(", ")
]
LEAST = dict.fromkeys(["revision", "without_bag", *"abemnprw"], 0) | dict.fromkeys("dhkv", 1)  # of integers
MEMBERS = {*LEAST, "tolerance", "gamma", "weights", "without", "digest"}
_FIRST, _HEADER = len(MAGIC) + 65, 65536  # bytes of the first line, and at most of the second
_U = 2.0**-53
_CELLS = 2**20  # numbers that are computed at a time


class ProofRejected(ValueError):  # noqa: N818 - named after what happens
    """The file does not prove what it says; the message is a sentence."""


@dataclass(frozen=True)
class Verified:
    """What a proof has proven: these are the `hits` (keys and distances) nearest to the `query` (words and weights)."""

    digest: str
    documents: int
    k: int
    hits: tuple[tuple[str, float], ...]
    query: tuple[tuple[str, float], ...]
    gamma: float
    weights: str
    tolerance: float
    without: str | None  # the key of the document that is left out, because it is the query
    uncovered: tuple[str, ...]  # words of the query that no document has: the digest does not cover their vectors
    revision: int
    without_bag: int

    @property
    def statement(self) -> str:
        """Return in words what is proven."""
        but = "" if self.without is None else f", without {self.without!r}, which is the query"
        lines = [
            f"Verified. Of the {self.documents:,} documents of the collection with the digest {self.digest}{but}, "
            f"compared with the query's bag of {len(self.query):,} words by Word Mover's Distance (gamma "
            f"{self.gamma:g}, weights {self.weights}), these {len(self.hits):,} are the nearest; each has the stated "
            f"distance within {self.tolerance:.3g}, and no other is nearer than the last by more than that:",
            *(f"{distance:.9f}  {key!r}" for key, distance in self.hits),
            "The query: " + ", ".join(f"{word!r} {weight:.4f}" for word, weight in self.query),
            f"Not verified: how texts became bags, and that this is the revision {self.revision}, in which "
            f"{self.without_bag:,} more documents have no word with a vector.",
        ]
        uncovered = f"Not covered by the digest: the vectors of {', '.join(map(repr, self.uncovered))}."
        return "\n".join([*lines, uncovered] if self.uncovered else lines)


class Proof(SimpleNamespace):
    """The content of a file: the members of the header and the arrays, by name."""

    def texts(self, name: str) -> list[str]:
        """Return the texts `word` or `key`."""
        joined = getattr(self, f"{name}_bytes").tobytes()
        return [joined[a:b].decode() for a, b in pairwise(getattr(self, f"{name}_starts").tolist())]

    def collection_digest(self) -> str:
        """Return the digest of the collection."""
        words, weights, rows = (x.tobytes() for x in (self.bag_words, self.bag_weights, self.vectors[: self.w]))
        bags = (words[4 * a : 4 * b] + weights[8 * a : 8 * b] for a, b in pairwise(self.bag_starts.tolist()))
        vectors = (rows[4 * self.d * i : 4 * self.d * (i + 1)] for i in range(self.w))
        trees = _tree(self.texts("key"), bags) + _tree(self.texts("word")[: self.w], vectors)
        counts = np.array([self.n, self.without_bag, self.w, self.d], "<u8").tobytes()
        gamma = np.array([self.gamma], "<f8").tobytes()
        return sha256(b"\2" + counts + gamma + trees + self.weights.encode()).hexdigest()


def _tree(texts: list[str], values: Iterator[bytes]) -> bytes:
    """Return the digest of the tree with a leaf for each text and its values (RFC 6962, section 2.1)."""
    leaves = zip(map(str.encode, texts), values, strict=True)
    level = [sha256(b"\0" + len(text).to_bytes(4, "little") + text + own).digest() for text, own in leaves]
    while len(level) > 1:
        pairs = [sha256(b"\1" + a + b).digest() for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[2 * len(pairs) :]
    return level[0] if level else sha256(b"").digest()


def _require(condition: object, reason: str) -> None:
    if not condition:
        raise ProofRejected(reason)


def read_proof(data: bytes) -> Proof:
    """Return the content of a file, of which only the checksum, the header and the sizes are checked."""
    _require(re.fullmatch(MAGIC.encode() + b"[0-9a-f]{64}\n", data[:_FIRST]), "it is no proof of moverank, version 1")
    digest = sha256(memoryview(data)[_FIRST:]).hexdigest()
    _require(data[len(MAGIC) :].startswith(digest.encode()), "its bytes do not have the SHA-256 of the first line")
    end = data.find(b"\n", _FIRST, _FIRST + _HEADER)
    _require(end > 0, "it has no header")
    header, offset = _header(data[_FIRST:end].decode("ascii")), end + 1
    for name, kind, letters in ARRAYS:
        shape = [header[size[0]] + size.endswith("+1") for size in letters.split()]
        size = np.dtype(kind).itemsize * prod(shape)
        _require(size <= len(data) - offset, f"it ends before the end of {name}")
        header[name] = np.ndarray(shape, kind, data if size else bytes(1), offset if size else 0)
        offset += size
    _require(offset == len(data), "it does not end with the last array")
    return Proof(**header)


def _header(text: str) -> dict[str, Any]:
    """Parse the header, and check its members."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        _require(len(dict(pairs)) == len(pairs), "its header has a name twice")
        return dict(pairs)

    header = json.loads(text, object_pairs_hook=members)
    _require(isinstance(header, dict) and set(header) == MEMBERS, "its header does not have the members of the format")
    weights, without = header["weights"], header["without"]
    valid = all(type(header[name]) is int and least <= header[name] < 2**63 for name, least in LEAST.items())
    numbers = all(type(x) in (int, float) and isfinite(x) and x >= 0 for x in (header["tolerance"], header["gamma"]))
    named = isinstance(weights, str) and re.fullmatch("[a-z]{1,32}", weights)
    _require(valid and numbers and named, "a member of its header has an invalid value")
    in_range = without is None or (type(without) is int and 0 <= without < header["n"])
    few = header["m"] == min(header["k"], header["n"] - (without is not None)) and header["w"] <= header["v"]
    _require(in_range and few, "the numbers in its header do not go together")
    return header


def _check_form(p: Proof) -> None:
    """Require what the manual lists as what must hold of the arrays."""
    for name, size in {"word": p.a, "key": p.b, "bag": p.e, "plan": p.p}.items():
        starts = getattr(p, f"{name}_starts")
        rising = starts[1:] > starts[:-1] if name == "bag" else starts[1:] >= starts[:-1]
        _require(starts[0] == 0 and starts[-1] == size and rising.all(), f"{name}_starts is invalid")
    keys, words = p.texts("key"), p.texts("word")
    rising = all(a < b for part in (keys, words[: p.w], words[p.w :]) for a, b in pairwise(part))  # as in UTF-8
    _require(rising and len({*words}) == p.v, "the keys or the words do not increase")
    for name in ("vectors", "potentials", "distances", "bag_weights", "query_weights", "plan_mass"):
        signed, least = name in ("vectors", "potentials"), 0 if name == "distances" else 5e-324
        values = getattr(p, name)
        _require(np.isfinite(values).all() and (signed or (values >= least).all()), f"{name} has an invalid number")
    ranges = {"hits": p.n, "bag_words": p.w, "query_words": p.v, "plan_query": p.h, "potential_of": p.r}
    for name, limit in ranges.items():
        values = getattr(p, name)
        _require((values >= 0).all() and (values < limit).all(), f"{name} has a number out of range")
    limits = np.repeat(np.diff(p.bag_starts)[p.hits], np.diff(p.plan_starts))
    _require(((p.plan_document >= 0) & (p.plan_document < limits)).all(), "plan_document has a number out of range")
    larger = p.bag_words[1:] > p.bag_words[:-1]
    larger[p.bag_starts[1:-1] - 1] = True
    _require(larger.all() and (p.query_words[1:] > p.query_words[:-1]).all(), "the words of a bag do not increase")
    used = np.append(p.bag_words, p.query_words[p.query_words >= p.w])
    _require(np.bincount(used, minlength=p.v).all(), "a word is in no bag")
    _require(len({*p.hits.tolist()} - {p.without}) == p.m, "a hit is there twice, or is the query")
    _require((p.distances[1:] >= p.distances[:-1]).all(), "the distances decrease")
    sums = np.append(p.query_weights.sum(), np.add.reduceat(p.bag_weights, p.bag_starts[:-1]) if p.n else [])
    _require((abs(sums - 1) <= 1e-9).all(), "the weights of a bag do not sum to 1")
    if p.without is not None:
        own = slice(*p.bag_starts[p.without : p.without + 2])
        same = np.array_equal(p.bag_words[own], p.query_words) and np.array_equal(p.bag_weights[own], p.query_weights)
        _require(same, "the document that is left out is not the query")
    longest = max(float(_lengths(block.astype(np.float64)).max()) for block in _blocks(p.vectors, p.d))
    _require(p.tolerance <= 1e-9 * longest * (1 + 1e-6), "its tolerance is too large")


def _lengths(vectors: Array) -> Array:
    lengths: Array = np.sqrt(np.square(vectors).sum(axis=1))
    return lengths


def _blocks(rows: Array, width: int) -> Iterator[Array]:
    """Yield parts of `rows` (n, ...), for each of which `width` numbers are computed."""
    size = max(1, _CELLS // width)
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _squares(a: Array, b: Array, pairs: Array, sign: int) -> Array:
    """Return lower (`sign` -1) or upper bounds (1) of the squares of the distances of `pairs` (n, 2) of vectors.

    Differences are off by u, their squares by 3 u, the sum by (d + 3) u of itself; the margin also covers its root.
    """
    squares = [np.square(a[some[:, 0]] - b[some[:, 1]]).sum(axis=1) for some in _blocks(pairs, a.shape[1])]
    bounds: Array = np.concatenate([np.empty(0), *squares]) * (1 + sign * 2 * (a.shape[1] + 16) * _U)
    return bounds


def _costs(a: Array, b: Array) -> Array:
    """Return lower bounds (n, m) of the distances of float64 vectors (n, d) and (m, d).

    By the product, a square is off by at most (d + 4) u (|a| + |b|)^2, and (|a| + |b|)^2 <= 2 (|a|^2 + |b|^2). The
    margin 2 (d + 16) u (|a|^2 + |b|^2) also covers its subtraction, and the root. Small squares come from differences.
    """
    both = np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1)
    squares = both - 2 * (a @ b.T)
    near = np.argwhere(squares < 1e-3 * both)
    squares -= 2 * (a.shape[1] + 16) * _U * both
    squares[tuple(near.T)] = _squares(a, b, near, -1)
    costs: Array = np.sqrt(np.maximum(squares, 0))
    return costs


def _entries(p: Proof, documents: Array) -> Iterator[tuple[slice, Array, Array]]:
    """Yield slices of `documents` (m,), the entries of their bags, and where each bag begins among these."""
    lengths = p.bag_starts[documents + 1] - p.bag_starts[documents]
    parts = np.flatnonzero(np.diff(np.cumsum(lengths) // _CELLS, prepend=-1)).tolist()
    for first, last in pairwise([*parts, len(documents)]):
        starts = np.cumsum(lengths[first:last]) - lengths[first:last]
        shift = np.repeat(p.bag_starts[documents[first:last]] - starts, lengths[first:last])
        yield slice(first, last), np.arange(len(shift)) + shift, starts


def _means(weights: Array, values: Array, starts: Array) -> Array:
    """Return lower bounds (m,) of `sum w x / sum w` of bags which begin at `starts` (m,), and whose sum is about 1.

    Division by a sum s changes a number by at most 2 |s - 1| of itself.
    """
    n = np.diff(starts, append=len(weights))
    total, absolute, mass = (np.add.reduceat(x, starts) for x in (weights * values, weights * abs(values), weights))
    bounds: Array = total - absolute * (2 * abs(mass - 1) + (6 * n + 16) * _U)
    return bounds


def lower_costs(p: Proof, words: Array) -> Array:
    """Return lower bounds (n, h) of the costs between some `words` (n,) and the query's."""
    return _costs(p.vectors[words].astype(np.float64), p.vectors[p.query_words].astype(np.float64))


def dual_values(p: Proof, u: Array, v: Array, documents: Array) -> Array:
    """Return lower bounds (m,) of `sum q u + sum d v` of `documents` (m,), for `u` (h,) and the `v` (w,) of words."""
    values, of_query = np.empty(len(documents)), _means(p.query_weights, u, np.zeros(1, np.int64))
    for some, entries, starts in _entries(p, documents):
        values[some] = _means(p.bag_weights[entries], v[p.bag_words[entries]], starts)
    return np.nextafter(values + of_query, -np.inf)


def lower_bounds(p: Proof, u: Array, documents: Array) -> Array:
    """Return lower bounds (m,) of the distances of `documents` (m,): dual values with v_j = min_i (C_ij - u_i)."""
    used, v = np.zeros(p.w, bool), np.zeros(p.w)
    for _, entries, _ in _entries(p, documents):
        used[p.bag_words[entries]] = True
    for words in _blocks(np.flatnonzero(used), max(p.h, p.d)):
        v[words] = np.nextafter((lower_costs(p, words) - u).min(axis=1), -np.inf)
    return dual_values(p, u, v, documents)


def upper_bound(p: Proof, hit: int) -> float:
    """Return an upper bound of a hit's distance: the cost of its plan, and the largest cost of what the plan misses."""
    (first, last), (start, stop) = p.plan_starts[hit : hit + 2], p.bag_starts[p.hits[hit] :][:2]
    a, b = (p.vectors[words].astype(np.float64) for words in (p.query_words, p.bag_words[start:stop]))
    mass, moves = p.plan_mass[first:last], np.stack([p.plan_query[first:last], p.plan_document[first:last]], axis=1)
    missed = 8 * (len(mass) + 8) * _U * (fsum(mass) + 1)
    for weights, ends in zip((p.query_weights, p.bag_weights[start:stop]), moves.T, strict=True):
        missed += fsum(abs(weights - np.bincount(ends, mass, len(weights)))) + abs(fsum(weights) - 1)
    largest = float(_lengths(a).max() + _lengths(b).max()) * (1 + 2 * (p.d + 16) * _U)
    return (fsum(mass * np.sqrt(_squares(a, b, moves, 1))) + missed * largest) * (1 + 8 * _U)


def _check_bounds(p: Proof, keys: list[str]) -> None:
    """Require that the distances of the hits are proven, and that no other document is nearer."""
    upper, lower = np.array([upper_bound(p, hit) for hit in range(p.m)]), np.full(p.n, np.inf)
    order = np.argsort(p.potential_of, kind="stable")
    for documents in np.split(order, np.flatnonzero(np.diff(p.potential_of[order])) + 1) if p.n else ():
        lower[documents] = lower_bounds(p, p.potentials[p.potential_of[documents[0]]], documents)
    for hit, distance, above in zip(p.hits, p.distances, upper, strict=True):
        proven = above <= np.nextafter(distance + p.tolerance, -np.inf)
        proven = proven and lower[hit] >= np.nextafter(distance - p.tolerance, np.inf)
        _require(proven, f"the distance of {keys[hit]!r} is not proven")
    others = np.setdiff1d(np.arange(p.n), [*p.hits, -1 if p.without is None else p.without])
    near = others[~(lower[others] >= np.nextafter(upper.max(initial=0) - p.tolerance, np.inf))]
    _require(not len(near), f"{keys[near[0]]!r} may be nearer than the last hit" if len(near) else "")


def verify(path: str | Path, digest: str | None = None, k: int | None = None) -> Verified:
    """Verify the proof in a file, and return what it proves; raise ProofRejected if it does not, OSError if unreadable.

    `digest`: the digest that the collection must have, and `k`: the number of neighbours that must be requested.
    """
    try:
        _require(S_ISREG(Path(path).stat().st_mode), "it is not a regular file")
        with np.errstate(all="ignore"):  # what overflows is rejected
            return _verified(read_proof(Path(path).read_bytes()), digest, k)
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise error if isinstance(error, ProofRejected) else ProofRejected(f"it is malformed: {error!r}") from error


def _verified(p: Proof, digest: str | None, k: int | None) -> Verified:
    _check_form(p)
    keys, words, found = p.texts("key"), p.texts("word"), p.collection_digest()
    _require(p.digest == found, "its digest is not that of its documents")
    _require(digest in (None, found), f"its documents have another digest, {found}")
    _require(k in (None, p.k), f"it is about the {p.k} nearest documents, not {k}")
    _check_bounds(p, keys)
    hits = tuple((keys[hit], distance) for hit, distance in zip(p.hits, p.distances.tolist(), strict=True))
    query = tuple((words[word], own) for word, own in zip(p.query_words, p.query_weights.tolist(), strict=True))
    names = (None if p.without is None else keys[p.without], tuple(words[p.w :]))
    numbers = (p.gamma, p.weights, p.tolerance)
    return Verified(found, p.n, p.k, hits, query, *numbers, *names, p.revision, p.without_bag)


def main() -> int:
    """Verify the file that the command line names, print what it proves, and return the exit code."""
    parser = argparse.ArgumentParser(description="Verifies a proof of a search.")
    parser.add_argument("file")
    parser.add_argument("--digest", type=str.lower, help="the digest that the collection must have")
    parser.add_argument("-k", type=int, help="the number of neighbours that must be requested")
    given = parser.parse_args()
    try:
        sys.stdout.write(verify(given.file, given.digest, given.k).statement + "\n")
    except (ProofRejected, OSError) as error:
        return f"{given.file}: {error}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
