"""Reads and writes files of proofs as the manual's page describes them, without the program's own code."""

import hashlib
import json
import struct
from itertools import pairwise
from typing import Any

import numpy as np
import ot
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

LAYOUT = {
    "word_starts": ("<i8", ("v+1",)),
    "key_starts": ("<i8", ("n+1",)),
    "bag_starts": ("<i8", ("n+1",)),
    "bag_weights": ("<f8", ("e",)),
    "query_weights": ("<f8", ("h",)),
    "hits": ("<i8", ("m",)),
    "distances": ("<f8", ("m",)),
    "plan_starts": ("<i8", ("m+1",)),
    "plan_mass": ("<f8", ("p",)),
    "potentials": ("<f8", ("r", "h")),
    "vectors": ("<f4", ("v", "d")),
    "bag_words": ("<i4", ("e",)),
    "query_words": ("<i4", ("h",)),
    "plan_query": ("<i4", ("p",)),
    "plan_document": ("<i4", ("p",)),
    "potential_of": ("<i4", ("n",)),
    "word_bytes": ("|u1", ("a",)),
    "key_bytes": ("|u1", ("b",)),
}

Content = dict[str, Any]
"""Members of the header, and arrays, by name."""


def content_of(data: bytes) -> Content:
    """Return what is in a file; KeyError and ValueError if it is no proof."""
    first, header, rest = data.split(b"\n", 2)
    assert first == b"moverank-proof 1 " + hashlib.sha256(header + b"\n" + rest).hexdigest().encode()
    content: Content = json.loads(header)
    offset = 0
    for name, (kind, sizes) in LAYOUT.items():
        shape = [content[size[0]] + size.endswith("+1") for size in sizes]
        count = int(np.prod(shape))
        content[name] = np.frombuffer(rest, kind, count, offset).reshape(shape).copy()
        offset += content[name].nbytes
    assert offset == len(rest)
    return content


def sealed(header: bytes, rest: bytes) -> bytes:
    """Return a file with this header and these arrays, and the right checksum."""
    body = header + b"\n" + rest
    return b"moverank-proof 1 " + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def file_of(content: Content, *, digest: bool = True) -> bytes:
    """Return the file of a content: sizes and checksum are computed, and the `digest` of the collection, too."""
    content = dict(content)
    for name, (_, sizes) in LAYOUT.items():
        for size, number in zip(sizes, content[name].shape, strict=True):
            content[size[0]] = int(number) - size.endswith("+1")
    if digest:
        content["digest"] = digest_of(content)
    header = json.dumps({name: value for name, value in content.items() if name not in LAYOUT})
    return sealed(header.encode(), b"".join(content[name].astype(kind).tobytes() for name, (kind, _) in LAYOUT.items()))


def texts(content: Content, name: str) -> list[bytes]:
    """Return the words ("word") or keys ("key")."""
    starts, joined = content[f"{name}_starts"], content[f"{name}_bytes"].tobytes()
    return [joined[first:last] for first, last in pairwise(starts)]


def set_texts(content: Content, name: str, changed: list[bytes]) -> None:
    """Replace the words or keys."""
    content[f"{name}_starts"] = np.cumsum([0, *map(len, changed)])
    content[f"{name}_bytes"] = np.frombuffer(b"".join(changed), np.uint8)


def _merkle(leaves: list[bytes]) -> bytes:
    """Return the digest of a tree by the recursion of RFC 6962."""
    if not leaves:
        return hashlib.sha256().digest()
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    split = 1
    while 2 * split < len(leaves):
        split *= 2
    return hashlib.sha256(b"\1" + _merkle(leaves[:split]) + _merkle(leaves[split:])).digest()


def digest_of(content: Content) -> str:
    """Return the digest of the collection."""
    documents, words = [], []
    for row, key in enumerate(texts(content, "key")):
        own = slice(content["bag_starts"][row], content["bag_starts"][row + 1])
        bag = content["bag_words"][own].astype("<i4").tobytes() + content["bag_weights"][own].astype("<f8").tobytes()
        documents.append(struct.pack("<I", len(key)) + key + bag)
    for row, word in enumerate(texts(content, "word")[: content["w"]]):
        words.append(struct.pack("<I", len(word)) + word + content["vectors"][row].astype("<f4").tobytes())
    sizes = (len(documents), content["without_bag"], content["w"], content["vectors"].shape[1])
    numbers = struct.pack("<4Qd", *sizes, content["gamma"])
    return hashlib.sha256(
        b"\2" + numbers + _merkle(documents) + _merkle(words) + content["weights"].encode()
    ).hexdigest()


def true_distances(content: Content) -> NDArray[np.float64]:
    """Return the distance (n,) of each document from the query, by POT."""
    query, vectors, found = content["query_weights"], content["vectors"].astype(np.float64), []
    for first, last in pairwise(content["bag_starts"]):
        weights, words = content["bag_weights"][first:last], content["bag_words"][first:last]
        cost = cdist(vectors[content["query_words"]], vectors[words])
        found.append(ot.emd2(query / query.sum(), weights / weights.sum(), cost))
    return np.array(found)


def is_true(content: Content) -> bool:
    """Return whether the hits are the nearest documents at their distances, by brute force, up to the tolerance."""
    distances, hits, margin = true_distances(content), content["hits"], content["tolerance"] + 1e-11
    others = np.setdiff1d(
        np.arange(len(distances)), [*hits, *([] if content["without"] is None else [content["without"]])]
    )
    exact = bool((np.abs(distances[hits] - content["distances"]) <= margin).all())
    return (
        exact
        and bool((distances[others] >= distances[hits].max(initial=0) - margin).all())
        and len(others) + len(hits) == len(distances) - (content["without"] is not None)
    )
