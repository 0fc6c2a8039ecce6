"""Verifies a proof of a search by Word Mover's Distance: `python verify.py FILE [--digest R] [-k K]`.

The format, with the letters for sizes, is on the page `proofs` of moverank's manual. A copy of this module runs alone.

Rounding: u is 2^-53. A sum of n products, in any order, is off by at most about n u times the sum of their absolute
values, a single operation by u times its result (Higham 2002, sections 2.2 and 3.1). Every bound is moved outward by
more than all of these errors. Squares of float32 values neither overflow nor underflow in float64.
"""

import argparse
import json
import re
import struct
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from math import fsum, isfinite, prod
from pathlib import Path
from stat import S_ISREG
from types import SimpleNamespace
from typing import Any

import numpy as np

MAGIC = "moverank-proof 1 "
ARRAYS = re.findall(  # name, type, shape, and numbers: any, above 0 (+), 0 or more, or below a size
    r"(\w+) (\S+) (\S+) ([^,]+)",
    "word_starts <i8 v+1 0, key_starts <i8 n+1 0, bag_starts <i8 n+1 0, bag_weights <f8 e +, query_weights <f8 h +, "
    "hits <i8 m n, distances <f8 m 0, plan_starts <i8 m+1 0, plan_mass <f8 p +, potentials <f8 r*h any, "
    "vectors <f4 v*d any, bag_words <i4 e w, query_words <i4 h v, plan_query <i4 p h, plan_document <i4 p 0, "
    "potential_of <i4 n r, word_bytes |u1 a 0, key_bytes |u1 b 0",
)
_LEAST = dict.fromkeys(["revision", "without_bag", *"abemnprw"], 0) | dict.fromkeys("dhkv", 1)  # of integers
MEMBERS = [*_LEAST, "tolerance", "gamma", "weights", "without", "digest"]
FIRST, _HEADER = len(MAGIC) + 65, 65536  # bytes of the first line, and at most of the second
_U, _CELLS = 2.0**-53, 2**20  # the unit roundoff, and how many numbers are computed at a time


class ProofRejected(ValueError):  # noqa: N818 - named after what happens
    """The file does not prove what it says; the message is a sentence."""


@dataclass(frozen=True)
class Verified:
    """What is proven: these are the `hits` (keys and distances) nearest to the `query` (words and weights).

    `without` is the key of a document that is left out, because it is the query; only the query has words `uncovered`.
    """

    digest: str
    documents: int
    k: int
    hits: tuple[tuple[str, float], ...]
    query: tuple[tuple[str, float], ...]
    gamma: float
    weights: str
    tolerance: float
    without: str | None
    uncovered: tuple[str, ...]
    revision: int
    without_bag: int

    def __str__(self) -> str:
        but = f", without {self.without!r}, which is the query" if self.without is not None else ""
        query = ", ".join(f"{word!r} {weight:.4f}" for word, weight in self.query)
        uncovered = "".join(f", where the vector of {word!r} comes from" for word in self.uncovered)
        return (
            f"Verified: of the {self.documents:,} documents of the collection with the digest {self.digest}{but}, "
            f"compared with the query by Word Mover's Distance (gamma {self.gamma:g}, weights {self.weights}), these "
            f"{len(self.hits):,} are the nearest; each has the stated distance within {self.tolerance:.3g}, and no "
            "other is nearer than the last by more than that."
            + "".join(f"\n{distance:.9f}  {key!r}" for key, distance in self.hits)
            + f"\nThe query: {query}.\nNot verified: how texts became bags, that the revision is {self.revision}, that "
            f"{self.without_bag:,} more documents have no bag{uncovered}."
        )


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
        numbers = struct.pack("<QQQQd", self.n, self.without_bag, self.w, self.d, self.gamma)
        return sha256(b"\2" + numbers + trees + self.weights.encode()).hexdigest()


def _tree(texts: list[str], values: Iterable[bytes]) -> bytes:
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
    """Return the content of a file, of which the checksum, the header, sizes and ranges are checked."""
    _require(re.fullmatch(MAGIC.encode() + b"[0-9a-f]{64}\n", data[:FIRST]), "it is no proof of moverank, version 1")
    digest, end = sha256(memoryview(data)[FIRST:]).hexdigest(), data.find(b"\n", FIRST, FIRST + _HEADER)
    _require(data.startswith(f"{MAGIC}{digest}".encode()), "its bytes do not have the SHA-256 of the first line")
    header, offset = _header(data[FIRST:end].decode("ascii") if end > 0 else ""), end + 1
    for name, kind, letters, numbers in ARRAYS:
        shape = [header[size[0]] + size.endswith("+1") for size in letters.split("*")]
        size = np.dtype(kind).itemsize * prod(shape)
        _require(size <= len(data) - offset, f"it ends before the end of {name}")
        values = header[name] = np.ndarray(shape, kind, data if size else bytes(1), offset if size else 0)
        least, limit = -np.inf if numbers == "any" else 0, header.get(numbers, np.inf)
        in_range = np.isfinite(values) & (values >= least) & (values < limit)
        _require(in_range.all() and (numbers != "+" or values.all()), f"{name} has a number that is not valid")
        offset += size
    _require(offset == len(data), "it does not end with the last array")
    return Proof(**header)


def _header(text: str) -> dict[str, Any]:
    """Parse the header, and check its members."""
    pairs = json.loads(text, object_pairs_hook=list) if text.startswith("{") and text.rstrip(" ")[-1] == "}" else []
    _require(sorted(name for name, _ in pairs) == sorted(MEMBERS), "its header does not have the members of the format")
    header = dict(pairs)
    weights, without, numbers = header["weights"], header["without"], (header["tolerance"], header["gamma"])
    valid = all(type(header[name]) is int and least <= header[name] < 2**63 for name, least in _LEAST.items())
    valid = valid and all(type(x) in (int, float) and isfinite(x) and x >= 0 for x in numbers)
    valid = valid and isinstance(weights, str) and re.fullmatch("[a-z]{1,32}", weights) is not None
    valid = valid and (without is None or (type(without) is int and 0 <= without < header["n"]))
    valid = valid and header["m"] == min(header["k"], header["n"] - (without is not None))
    _require(valid and header["w"] <= header["v"], "a member of its header has an invalid value")
    return header


def _check_form(p: Proof) -> tuple[list[str], list[str]]:
    """Require the conditions on the arrays that the manual lists, and return the keys and the words."""
    for name, size in {"word": p.a, "key": p.b, "bag": p.e, "plan": p.p}.items():
        starts = getattr(p, f"{name}_starts")
        rising = starts[1:] - (name == "bag") >= starts[:-1]
        _require(rising.all() and starts[0] == 0 and starts[-1] == size, f"{name}_starts is invalid")
    keys, words = p.texts("key"), p.texts("word")
    rising = all(a < b for part in (keys, words[: p.w], words[p.w :]) for a, b in pairwise(part))  # as in UTF-8
    _require(rising and len({*words}) == p.v, "the keys or the words do not increase")
    limits = np.repeat(np.diff(p.bag_starts)[p.hits], np.diff(p.plan_starts))
    _require((p.plan_document < limits).all(), "plan_document has a number that is not valid")
    larger = p.bag_words[1:] > p.bag_words[:-1]
    larger[p.bag_starts[1:-1] - 1] = True
    _require(larger.all() and (p.query_words[1:] > p.query_words[:-1]).all(), "the words of a bag do not increase")
    used = np.append(p.bag_words, p.query_words[p.query_words >= p.w])
    _require(np.bincount(used, minlength=p.v).all(), "a word is in no bag")
    _require(len({*p.hits.tolist()} - {p.without}) == p.m, "a hit is there twice, or is the query")
    _require((p.distances[1:] >= p.distances[:-1]).all(), "the distances decrease")
    sums = np.append(p.query_weights.sum(), np.add.reduceat(p.bag_weights, p.bag_starts[:-1]) if p.n else [])
    _require((abs(sums - 1) <= 1e-9).all(), "the weights of a bag do not sum to 1")
    own = slice(*p.bag_starts[p.without or 0 :][:2])
    same = np.array_equal(p.bag_words[own], p.query_words) and np.array_equal(p.bag_weights[own], p.query_weights)
    _require(p.without is None or same, "the document that is left out is not the query")
    blocks = _blocks(p.vectors[: p.w], p.d)  # the digest does not cover the others
    longest = max((float(np.linalg.norm(x.astype(np.float64), axis=1).max()) for x in blocks), default=0.0)
    _require(p.tolerance <= 1e-9 * longest * (1 + 1e-6), "its tolerance is too large")
    return keys, words


def _blocks(rows: Any, width: int) -> Iterator[Any]:
    """Return parts of `rows` (n, ...), for each of which `width` numbers are computed."""
    return (rows[start : start + max(1, _CELLS // width)] for start in range(0, len(rows), max(1, _CELLS // width)))


def _squares(a: Any, b: Any, pairs: Any, sign: int) -> Any:
    """Return lower (`sign` -1) or upper bounds (1) of the squares of the distances of `pairs` (n, 2) of vectors."""
    squares = [np.square(a[some[:, 0]] - b[some[:, 1]]).sum(axis=1) for some in _blocks(pairs, a.shape[1])]
    # Differences are off by u, their squares by 3 u, the sum by (d + 3) u of itself; the margin covers its root, too.
    return np.concatenate([np.empty(0), *squares]) * (1 + sign * 2 * (a.shape[1] + 16) * _U)


def lower_costs(p: Proof, words: Any) -> Any:
    """Return lower bounds (n, h) of the costs between some `words` (n,) and the query's.

    By the product, the square for vectors a and b is off by at most (d + 4) u (|a| + |b|)^2, and (|a| + |b|)^2 is at
    most 2 (|a|^2 + |b|^2). The margin also covers its subtraction, and the root. Small squares come from differences.
    """
    a, b = (p.vectors[some].astype(np.float64) for some in (words, p.query_words))
    both = np.square(a).sum(axis=1)[:, None] + np.square(b).sum(axis=1)
    squares = both - 2 * (a @ b.T)
    near = np.argwhere(squares < 1e-3 * both)
    squares -= 2 * (p.d + 16) * _U * both
    squares[tuple(near.T)] = _squares(a, b, near, -1)
    return np.sqrt(np.maximum(squares, 0))


def _entries(p: Proof, documents: Any) -> Iterator[tuple[slice, Any, Any]]:
    """Yield slices of `documents` (m,), the entries of their bags, and where each bag begins among these."""
    lengths = p.bag_starts[documents + 1] - p.bag_starts[documents]
    parts = np.flatnonzero(np.diff(np.cumsum(lengths) // _CELLS, prepend=-1)).tolist()
    for first, last in pairwise([*parts, len(documents)]):
        starts = np.cumsum(lengths[first:last]) - lengths[first:last]
        shift = np.repeat(p.bag_starts[documents[first:last]] - starts, lengths[first:last])
        yield slice(first, last), np.arange(len(shift)) + shift, starts


def _means(weights: Any, values: Any, starts: Any) -> Any:
    """Return lower bounds (m,) of `sum w x / sum w` of bags which begin at `starts` (m,), and whose sum is about 1."""
    n = np.diff(starts, append=len(weights))
    total, absolute, mass = (np.add.reduceat(x, starts) for x in (weights * values, weights * abs(values), weights))
    return total - absolute * (2 * abs(mass - 1) + (6 * n + 16) * _U)  # dividing by s changes x by at most 2 |s - 1| x


def dual_values(p: Proof, u: Any, v: Any, documents: Any) -> Any:
    """Return lower bounds (m,) of `sum q u + sum d v` of `documents` (m,), for `u` (h,) and the `v` (w,) of words."""
    values, of_query = np.empty(len(documents)), _means(p.query_weights, u, np.zeros(1, np.int64))
    for some, entries, starts in _entries(p, documents):
        values[some] = _means(p.bag_weights[entries], v[p.bag_words[entries]], starts)
    return np.nextafter(values + of_query, -np.inf)


def lower_bounds(p: Proof, u: Any, documents: Any) -> Any:
    """Return lower bounds (m,) of the distances of `documents` (m,): dual values with v_j = min_i (C_ij - u_i)."""
    used, v = np.zeros(p.w, bool), np.zeros(p.w)
    for _, entries, _ in _entries(p, documents):
        used[p.bag_words[entries]] = True
    for words in _blocks(np.flatnonzero(used), max(p.h, p.d)):
        v[words] = np.nextafter((lower_costs(p, words) - u).min(axis=1), -np.inf)
    return dual_values(p, u, v, documents)


def upper_bound(p: Proof, hit: int) -> Any:
    """Return an upper bound of a hit's distance: the cost of its plan plus the largest cost of the mass it misses."""
    (first, last), (start, stop) = p.plan_starts[hit : hit + 2], p.bag_starts[p.hits[hit] :][:2]
    a, b = (p.vectors[words].astype(np.float64) for words in (p.query_words, p.bag_words[start:stop]))
    mass, moves = p.plan_mass[first:last], np.stack([p.plan_query[first:last], p.plan_document[first:last]], axis=1)
    missed = 8 * (len(mass) + 8) * _U * (fsum(mass) + 1)
    for weights, ends in zip((p.query_weights, p.bag_weights[start:stop]), moves.T, strict=True):
        missed += fsum(abs(weights - np.bincount(ends, mass, len(weights)))) + abs(fsum(weights) - 1)
    largest = sum(float(np.linalg.norm(x, axis=1).max()) for x in (a, b)) * (1 + 2 * (p.d + 16) * _U)
    return (fsum(mass * np.sqrt(_squares(a, b, moves, 1))) + missed * largest) * (1 + 8 * _U)


def _check_bounds(p: Proof, keys: list[str]) -> None:
    """Require that the distances of the hits are proven, and that no other document is nearer."""
    upper, lower = np.array([upper_bound(p, hit) for hit in range(p.m)]), np.full(p.n, np.inf)
    order = np.argsort(p.potential_of, kind="stable")
    for documents in np.split(order, np.flatnonzero(np.diff(p.potential_of[order])) + 1) if p.n else ():
        lower[documents] = lower_bounds(p, p.potentials[p.potential_of[documents[0]]], documents)
    proven = upper <= np.nextafter(p.distances + p.tolerance, -np.inf)
    proven &= lower[p.hits] >= np.nextafter(p.distances - p.tolerance, np.inf)
    _require(proven.all(), f"the distance of {[keys[hit] for hit in p.hits[~proven][:1]]} is not proven")
    lower[[*p.hits, *([] if p.without is None else [p.without])]] = np.inf
    near = np.flatnonzero(~(lower >= np.nextafter(upper.max(initial=0) - p.tolerance, np.inf)))
    _require(not len(near), f"{[keys[document] for document in near[:1]]} may be nearer than the last hit")


def verify(path: str | Path, digest: str | None = None, k: int | None = None) -> Verified:
    """Verify the proof in a file, and return what it proves; raise ProofRejected if it does not, OSError if unreadable.

    `digest`: the digest that the collection must have, and `k`: the number of neighbours that must be requested.
    """
    try:
        _require(S_ISREG(Path(path).stat().st_mode), "it is not a regular file")
        p = read_proof(Path(path).read_bytes())
        with np.errstate(all="ignore"):  # overflow is rejected
            (keys, words), found = _check_form(p), p.collection_digest()
            _require(p.digest == found, "its digest is not that of its documents")
            as_required = digest in (None, found) and k in (None, p.k)
            _require(as_required, f"it is about the {p.k} nearest of the documents with the digest {found}")
            _check_bounds(p, keys)
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise error if isinstance(error, ProofRejected) else ProofRejected(f"it is malformed: {error!r}") from error
    hits = zip((keys[hit] for hit in p.hits), p.distances.tolist(), strict=True)
    query = zip((words[word] for word in p.query_words), p.query_weights.tolist(), strict=True)
    names = (None if p.without is None else keys[p.without], tuple(words[p.w :]), p.revision, p.without_bag)
    return Verified(found, p.n, p.k, tuple(hits), tuple(query), p.gamma, p.weights, p.tolerance, *names)


def main() -> None:
    """Verify the file that the command line names, and print what it proves, or why it proves nothing (exit code 1)."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--digest", help="the digest that the collection must have")
    parser.add_argument("-k", type=int, help="the number of neighbours that must be requested")
    given = parser.parse_args()
    try:
        sys.stdout.write(f"{verify(given.file, given.digest, given.k)}\n")
    except (ProofRejected, OSError) as error:
        sys.exit(f"{given.file}: {error}")


if __name__ == "__main__":
    main()
