"""What is not proven is rejected: damaged files, forged files, and what only looks like a proof."""

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import ot
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from moverank import ProofRejected, verify
from moverank.indexer.plugins.proofs import verify as module
from tests.indexer.plugins.proofs.conftest import Check, Why
from tests.indexer.plugins.proofs.files import (
    LAYOUT,
    Content,
    content_of,
    digest_of,
    file_of,
    is_true,
    sealed,
    set_texts,
    texts,
    true_distances,
)
from tests.samples import examples

_FLOATS = [name for name, (kind, _) in LAYOUT.items() if "f" in kind]
_INTEGERS = [name for name, (kind, _) in LAYOUT.items() if "i" in kind]


def test_the_file_is_what_the_manual_says(proof: bytes, check: Check) -> None:
    content = content_of(proof)
    assert content["digest"] == digest_of(content)
    assert is_true(content)
    assert texts(content, "key") == sorted(texts(content, "key"))
    rebuilt = check(file_of(content))
    assert rebuilt == check(proof)
    assert rebuilt is not None
    assert rebuilt.digest == content["digest"]
    assert (proof.index(b"\n", 82) + 1) % 8 == 0


@pytest.mark.slow
def test_every_changed_byte_is_found(proof: bytes, check: Check) -> None:
    changed = bytearray(proof)
    for place, other in enumerate(np.random.default_rng(1).integers(1, 256, len(proof)).tolist()):
        changed[place] ^= other
        assert check(bytes(changed)) is None, place
        changed[place] ^= other
    assert check(bytes(changed)) is not None


@pytest.mark.slow
def test_a_cut_or_longer_file_is_rejected(proof: bytes, check: Check) -> None:
    for size in range(len(proof)):
        assert check(proof[:size]) is None
    assert check(proof + b"\0") is None
    first, header, rest = proof.split(b"\n", 2)
    for size in (0, 1, 7, 8, len(rest) // 2, len(rest) - 1):
        assert check(sealed(header, rest[:size])) is None
    assert check(sealed(header, rest + b"\0")) is None
    assert check(first + b"\n" + header) is None


@examples(10)
@given(data=st.data())
def test_bytes_changed_under_a_right_checksum_prove_nothing_wrong(proof: bytes, check: Check, data: Any) -> None:
    _, header, rest = proof.split(b"\n", 2)
    changed, head = bytearray(rest), bytearray(header)
    for _ in range(data.draw(st.integers(1, 3))):
        part = data.draw(st.sampled_from([changed, changed, changed, head]))
        part[data.draw(st.integers(0, len(part) - 1))] = data.draw(st.integers(0, 255))
    file = sealed(bytes(head), bytes(changed))
    if check(file) is not None:
        assert is_true(content_of(file))


@examples(10)
@given(header=st.binary(max_size=60), rest=st.binary(max_size=60))
def test_other_files_are_rejected(check: Check, header: bytes, rest: bytes) -> None:
    assert check(rest) is None
    assert check(sealed(header, rest)) is None
    assert check(sealed(b"{" + header + b"}", rest)) is None


@pytest.mark.parametrize("size", [-1, 0, 2**31, 2**40, 2**62, 2**63, 10**400, 1.0, "1", None, True, [1], {}])
def test_sizes_of_any_kind_are_rejected(proof: bytes, check: Check, size: object) -> None:
    _, header, rest = proof.split(b"\n", 2)
    members = json.loads(header)
    for name, value in members.items():
        if value != size or type(value) is not type(size):
            changed = check(sealed(json.dumps(members | {name: size}).encode(), rest))
            assert changed is None or name == "revision" or (name, size) == ("gamma", 0), name


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"[]",
        b"null",
        b"{" * 5000,
        b'{"k":' * 20000,
        b'{"k": 1}',
        b"{}\xff",
        '{"ü": 1}'.encode(),
        b'[["k", 5]]',
        b" " * 70000,
        b'{"k": NaN}',
        b"1" * 60000,
        b'{"k": ' + b"1" * 60000 + b"}",
    ],
)
def test_other_headers_are_rejected(proof: bytes, check: Check, header: bytes) -> None:
    rest = proof.split(b"\n", 2)[2]
    assert check(sealed(header, rest)) is None
    assert check(sealed(header, b"")) is None


def test_headers_with_names_twice_or_too_many_are_rejected(proof: bytes, check: Check) -> None:
    _, header, rest = proof.split(b"\n", 2)
    assert check(sealed(header.rstrip(), rest)) is not None
    for changed in (b'{"k": 5, ' + header[1:], b'{"more": 1, ' + header[1:], header + b"\t", b" " + header):
        assert check(sealed(changed, rest)) is None
    for name, value in (
        ("tolerance", "1e999"),
        ("gamma", "NaN"),
        ("gamma", "-1"),
        ("weights", '"TF"'),
        ("without", "63"),
    ):
        members = json.loads(header)
        typed = json.dumps(members | {name: "@"}).replace('"@"', value)
        assert check(sealed(typed.encode(), rest)) is None


def test_numbers_that_no_proof_has_are_rejected(proof: bytes, check: Check, subtests: pytest.Subtests) -> None:
    for name, value in product(_FLOATS, [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, -1e300, 1e-300]):
        content = content_of(proof)
        with np.errstate(over="ignore"):
            content[name].flat[len(content[name].flat) // 2] = value
        with subtests.test(name=name, value=value):
            assert check(file_of(content)) is None or (name == "potentials" and is_true(content))


def test_indices_out_of_range_are_rejected(proof: bytes, check: Check, subtests: pytest.Subtests) -> None:
    for name, value, place in product(_INTEGERS, [-1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63), 63, 12], [0, 1, -1]):
        content = content_of(proof)
        array = content[name]
        if value not in range(np.iinfo(array.dtype).min, np.iinfo(array.dtype).max + 1) or array.flat[place] == value:
            continue
        array.flat[place] = value
        try:
            file = file_of(content)
        except (ValueError, IndexError, MemoryError):  # there is no digest of such bags
            file = file_of(content, digest=False)
        with subtests.test(name=name, value=value, place=place):
            assert check(file) is None or (name.startswith("p") and is_true(content))


def _drop_document(content: Content, row: int) -> None:
    """Leave a document out, which is no hit, as if it had never been there."""
    own = slice(content["bag_starts"][row], content["bag_starts"][row + 1])
    lengths = np.delete(np.diff(content["bag_starts"]), row)
    content["bag_starts"] = np.cumsum([0, *lengths])
    for name in ("bag_words", "bag_weights"):
        content[name] = np.delete(content[name], own)
    content["potential_of"] = np.delete(content["potential_of"], row)
    set_texts(content, "key", [key for place, key in enumerate(texts(content, "key")) if place != row])
    content["hits"] = content["hits"] - (content["hits"] > row)


def _drop_hit(content: Content, place: int) -> None:
    """Leave out a hit with its plan."""
    own = slice(content["plan_starts"][place], content["plan_starts"][place + 1])
    content["plan_starts"] = np.cumsum([0, *np.delete(np.diff(content["plan_starts"]), place)])
    for name in ("plan_mass", "plan_query", "plan_document"):
        content[name] = np.delete(content[name], own)
    for name in ("hits", "distances"):
        content[name] = np.delete(content[name], place)


def test_a_document_left_out_is_found_by_the_digest(content: Content, check: Check) -> None:
    """Without the digest, such a file is a proof of another collection."""
    digest = content["digest"]
    for row in set(range(63)) - {*content["hits"].tolist()}:
        forged = {name: value.copy() if hasattr(value, "copy") else value for name, value in content.items()}
        _drop_document(forged, row)
        data = file_of(forged)
        assert check(data, digest) is None
        other = check(data)
        assert other is None or (other.documents == 62 and other.digest != digest)


def test_a_hidden_nearer_document_is_found(content: Content, why: Why) -> None:
    """The last hit is replaced by the next document, with its own plan and potentials."""
    order = np.argsort(true_distances(content), kind="stable")
    following = next(
        row
        for row in order
        if row not in content["hits"] and true_distances(content)[row] > content["distances"][-1] + 1e-6
    )
    query, own = content["query_words"], slice(content["bag_starts"][following], content["bag_starts"][following + 1])
    cost = cdist(content["vectors"][query].astype(float), content["vectors"][content["bag_words"][own]].astype(float))
    plan, log = ot.emd(content["query_weights"], content["bag_weights"][own], cost, log=True)
    _drop_hit(content, 4)
    moves = np.nonzero(plan)
    content["hits"], content["distances"] = (
        np.append(content["hits"], following),
        np.append(content["distances"], log["cost"]),
    )
    content["plan_starts"] = np.append(content["plan_starts"], content["plan_starts"][-1] + len(moves[0]))
    for name, values in (("plan_mass", plan[moves]), ("plan_query", moves[0]), ("plan_document", moves[1])):
        content[name] = np.append(content[name], values).astype(content[name].dtype)
    u = (cost - log["v"]).min(axis=1)
    content["potential_of"][following] = len(content["potentials"])
    content["potentials"] = np.vstack([content["potentials"], u])
    assert re.fullmatch(r"\['d\d+'\] may be nearer than the last hit", why(file_of(content)))


def test_a_long_vector_of_the_query_alone_allows_no_larger_tolerance(content: Content, why: Why) -> None:
    """The digest does not cover such a vector: it could allow any error."""
    longest = float(np.linalg.norm(content["vectors"], axis=1).max())
    set_texts(content, "word", [*texts(content, "word"), b"zzz"])
    content["vectors"] = np.vstack([content["vectors"], np.full(content["d"], 1e10, np.float32)])
    content["query_words"] = np.append(content["query_words"], len(content["vectors"]) - 1)
    content["query_weights"] = np.append(content["query_weights"], 1e-30)
    content["potentials"] = np.hstack([content["potentials"], np.zeros((len(content["potentials"]), 1))])
    digest = content["digest"]
    assert why(file_of(content | {"tolerance": 1e-8 * longest}), digest) == "its tolerance is too large"


def test_another_number_of_neighbours_is_found(content: Content, check: Check) -> None:
    for k in (4, 6, 63, 64):
        assert check(file_of(content | {"k": k, "m": 5}), None) is None
    _drop_hit(content, 4)
    content["k"] = 4
    fewer = check(file_of(content))  # true, but about four
    assert fewer is None or (fewer.k == 4 and len(fewer.hits) == 4)
    assert check(file_of(content), None, 5) is None


def _swap_hits(content: Content, data: Any) -> None:
    one, other = data.draw(st.sampled_from([(0, 1), (1, 4), (2, 3)]))
    content["hits"][[one, other]] = content["hits"][[other, one]]


def _repeat_hit(content: Content, data: Any) -> None:
    content["hits"][data.draw(st.integers(1, 4))] = content["hits"][0]


def _other_hit(content: Content, data: Any) -> None:
    content["hits"][data.draw(st.integers(0, 4))] = data.draw(st.integers(0, 62))


def _lower_k(content: Content, data: Any) -> None:
    _drop_hit(content, data.draw(st.integers(0, 4)))
    content["k"] = 4


def _other_number(*names: str) -> Callable[[Content, Any], None]:
    def change(content: Content, data: Any) -> None:
        array = content[data.draw(st.sampled_from(names))]
        place, factor = data.draw(st.integers(0, array.size - 1)), data.draw(st.floats(-1, 3, width=16))
        array.flat[place] = array.flat[place] * factor

    return change


def _other_distance(content: Content, data: Any) -> None:
    content["distances"] = np.sort(content["distances"] + data.draw(st.sampled_from([-0.1, -1e-7, 1e-10, 1e-8, 0.1])))


def _moved_mass(content: Content, data: Any) -> None:
    """Move mass between two words of a document, so that its weights still sum to 1."""
    place = data.draw(st.integers(0, len(content["bag_weights"]) - 2))
    if place + 1 not in content["bag_starts"]:
        half = content["bag_weights"][place] / 2
        content["bag_weights"][place : place + 2] += (-half, half)


def _other_row(content: Content, data: Any) -> None:
    content["potential_of"][data.draw(st.integers(0, 62))] = data.draw(st.integers(0, len(content["potentials"]) - 1))


def _other_tolerance(content: Content, data: Any) -> None:
    content["tolerance"] = content["tolerance"] * data.draw(st.sampled_from([0, 0.5, 0.999, 1.001, 2, 1e9]))


def _other_key(content: Content, data: Any) -> None:
    changed = texts(content, "key")
    row = data.draw(st.integers(0, 62))
    changed[row] += data.draw(st.sampled_from([b"", b"\0", b"\xff", "é".encode(), b"zz"]))
    set_texts(content, "key", changed)


_FORGERIES = [
    _swap_hits,
    _repeat_hit,
    _other_hit,
    _lower_k,
    _other_distance,
    _moved_mass,
    _other_row,
    _other_tolerance,
    _other_key,
    _other_number("plan_mass"),
    _other_number("potentials"),
    _other_number("vectors"),
    _other_number("bag_weights", "query_weights"),
    _other_number("distances"),
]


@examples(10)
@given(data=st.data(), forgery=st.sampled_from(_FORGERIES))
def test_no_forged_file_proves_what_is_wrong(
    proof: bytes, check: Check, data: Any, forgery: Callable[[Content, Any], None]
) -> None:
    """Checksum and digest are computed anew: a file may prove another true statement, and with the digest nothing."""
    content = content_of(proof)
    forgery(content, data)
    file = file_of(content)
    verified = check(file)
    if verified is not None:
        assert is_true(content)
    if digest_of(content) != content_of(proof)["digest"]:
        assert check(file, content_of(proof)["digest"]) is None


def _changed(name: str, place: int, value: float) -> Callable[[Content], None]:
    def change(content: Content) -> None:
        content[name].flat[place] += value

    return change


def _reversed_hits(content: Content) -> None:
    content["hits"] = content["hits"][::-1]


def _repeated_hit(content: Content) -> None:
    content["hits"][3] = content["hits"][0]


@pytest.mark.parametrize(
    ("forgery", "reason"),
    [
        (_reversed_hits, "the distance of|plan_document has a number that is not valid"),
        (_repeated_hit, "a hit is there twice|plan_document has a number that is not valid"),
        (_changed("distances", 4, 1e-6), "the distance of .* is not proven"),
        (_changed("distances", 4, -1e-9), None),
        (_changed("distances", 4, -1e-6), "the distance of .* is not proven"),
        (_changed("plan_mass", 0, 1e-6), "the distance of .* is not proven"),
        (_changed("plan_mass", -1, 1e-6), "the distance of .* is not proven"),
        (_changed("potentials", 0, 1.0), "may be nearer than the last hit|is not proven"),
        (_changed("vectors", 0, 0.1), "is not proven|may be nearer"),
        (_changed("query_weights", 0, 1e-6), "the weights of a bag do not sum to 1"),
        (_changed("bag_weights", 7, 1e-6), "the weights of a bag do not sum to 1"),
        (lambda content: _drop_hit(content, 2), "may be nearer than the last hit|a member of its header"),
    ],
)
def test_each_change_has_its_reason(
    content: Content, check: Check, why: Why, forgery: Callable[[Content], None], reason: str | None
) -> None:
    forgery(content)
    data = file_of(content | {"k": content["hits"].size})
    if reason is None:
        assert check(data) is not None
    else:
        assert re.search(reason, why(data))


def test_a_word_is_in_its_place_and_in_a_bag(content: Content, check: Check) -> None:
    words = texts(content, "word")
    set_texts(content, "word", [words[1], words[0], *words[2:]])
    assert check(file_of(content)) is None
    set_texts(content, "word", [*words, b"zzz"])
    content["vectors"] = np.vstack([content["vectors"], content["vectors"][:1]])
    assert check(file_of(content)) is None
    content["w"] += 1
    assert check(file_of(content)) is None


def test_the_document_left_out_must_be_the_query(content: Content, check: Check) -> None:
    row = int(content["hits"][2])
    _drop_hit(content, 2)
    assert check(file_of(content | {"without": row, "k": 4})) is None


def test_what_is_no_regular_file_is_rejected(tmp_path: Path) -> None:
    for path in (tmp_path, Path("/dev/zero")):
        with pytest.raises(ProofRejected, match="it is not a regular file"):
            verify(path)
    with pytest.raises(FileNotFoundError):
        verify(tmp_path / "none")


@pytest.mark.slow
def test_the_module_is_short_and_stands_alone(proof: bytes, tmp_path: Path) -> None:
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 300
    tree = ast.walk(ast.parse(source))
    imports = [node for node in tree if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {
        alias.name if isinstance(node, ast.Import) else str(node.module) for node in imports for alias in node.names
    }
    assert {name.partition(".")[0] for name in names} <= {"numpy", *sys.stdlib_module_names}
    copy, file = shutil.copy(str(module.__file__), tmp_path / "alone.py"), tmp_path / "a.proof"
    file.write_bytes(proof)

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        done = subprocess.run([sys.executable, "-I", copy, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    assert run(file) == (0, f"{verify(file)}\n", "")
    code, out, err = run(file, "-k", "4")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert "it is about the 5 nearest of the documents with the digest" in err
    assert run(tmp_path / "none")[0] == 1
    assert run()[0] == run(file, "-k", "x")[0] == 2
