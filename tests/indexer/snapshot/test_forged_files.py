"""Files whose checksums are right, and whose values are not: nothing crashes, and answers are those of the database.

Each forgery is searched by a process of its own, since a wrong index in compiled code ends it.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from moverank.indexer.files.arrays import read_arrays, save_arrays, write_arrays
from moverank.indexer.files.checksums import checksummed_json, file_checksums
from moverank.indexer.snapshot.snapshot_layout import ARRAYS, DOCUMENT_VECTORS, SAMPLE, VECTOR_FILES, VOCABULARY
from tests.indexer.given import DIM, documents_with_vectors
from tests.indexer.world import CollectionFactory, random_documents

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("always_compact"),
    pytest.mark.sqlite("copies the directory of a collection"),
]

_Change = Callable[[NDArray[Any]], NDArray[Any]]

_SEARCHES = """
import json, resource, sys
from moverank import Collection
from moverank.indexer.snapshot import compaction
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
compaction.SMALL_TAIL = 0
for path in json.load(sys.stdin):
    with Collection.open(path) as opened:
        found = []
        for rank, more in json.loads(sys.argv[1]):
            hits = opened.search("ant bee cat", k=4, rank=rank, **more).hits
            found.append([[hit.key, f"{hit.distance:.6f}"] for hit in hits])
    print(json.dumps([path, found]), flush=True)
"""


_Rankings = list[tuple[str, dict[str, Any]]]
_RANKINGS: _Rankings = [
    ("pwmd", {}),
    ("pwmd", {"depth": 6}),
    ("pwmd", {"gamma": 2.0}),
    ("bm25:stem=english", {}),
    ("bm25:ngrams=2", {}),
    ("bm25", {}),
    ("pwmd:weights=tfidf+cosine", {}),
    ("pwmd:proximity=empirical", {}),
    ("translation", {}),
]


_OF_CACHED = [(rank, more) for rank, more in _RANKINGS if not rank.startswith("pwmd") or "weights" in rank]
"""The rankings that read what is cached."""
_OF_SAMPLE = [(rank, more) for rank, more in _RANKINGS if "proximity" in rank]


def _answers(paths: list[Path], rankings: _Rankings = _RANKINGS) -> tuple[dict[str, Any], str]:
    """Search collections in one process; return the answers of each, and what was logged."""
    run = subprocess.run(
        [sys.executable, "-c", _SEARCHES, json.dumps(rankings)],
        input=json.dumps([str(path) for path in paths]),
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert run.returncode == 0, run.stderr[-2000:] + f" after {run.stdout.count(chr(10))} of {paths}"
    return dict(json.loads(line) for line in run.stdout.splitlines()), run.stderr


def _set(position: int, value: float) -> _Change:
    def changed(array: NDArray[Any]) -> NDArray[Any]:
        forged = array.copy()
        forged[position] = value
        return forged

    return changed


SIZES: dict[str, _Change] = {
    "one less": lambda array: array[:-1],
    "one more": lambda array: np.append(array, array[-1:], axis=0),
    "none": lambda array: array[:0],
}
NEGATIVE = {"the last is negative": _set(-1, -7)}
OUTSIDE = {"the first is large": _set(0, 2**30), "the last is large": _set(-1, 2**31 - 2)} | NEGATIVE
NOT_FINITE = {"not a number": _set(-1, np.nan), "infinite": _set(0, np.inf)}
REVERSED: dict[str, _Change] = {"reversed": lambda array: array[::-1]}


def _forgeries(name: str) -> dict[str, _Change]:
    """Return what makes an array impossible; other numbers that are possible would only be wrong."""
    if name.endswith(("ids", "starts")):
        return SIZES | OUTSIDE | REVERSED
    if name.endswith("words"):
        return SIZES | OUTSIDE
    return SIZES | NOT_FINITE if name in ("vectors", DOCUMENT_VECTORS) else SIZES | NEGATIVE


def _forge_snapshot(directory: Path, name: str, content: bytes) -> None:
    """Replace a file of the snapshot, and its checksum."""
    (snapshot,) = directory.glob("snapshot-*")
    (snapshot / name).write_bytes(content)
    meta = json.loads((snapshot / "meta.json").read_text())
    meta.pop("checksum")
    meta["files"] = {file: sums for file, sums in file_checksums(snapshot).items() if file != "meta.json"}
    (snapshot / "meta.json").write_bytes(checksummed_json(meta))


def _copies(source: Path, folder: Path, name: str, kind: str, changes: dict[str, _Change]) -> list[Path]:
    """Copy a collection for each change of an array of its snapshot."""
    made = []
    for what, change in changes.items():
        made.append(Path(shutil.copytree(source, folder / what)))
        (snapshot,) = made[-1].glob("snapshot-*")
        _forge_snapshot(made[-1], name, change(np.fromfile(snapshot / name, kind)).astype(kind).tobytes())
    return made


@pytest.fixture(scope="module")
def threads(factory: CollectionFactory) -> tuple[Path, Any]:
    """Return a closed collection that has every kind of file, and its answers."""
    path = factory.closed(random_documents(12, "ant bee"), gamma=0.5)
    answers, _ = _answers([path])
    return path, answers[str(path)]


def _check(forged: list[Path], expected: Any, rankings: _Rankings = _RANKINGS) -> None:
    """Check the answers of copies, each of which was noted and rebuilt."""
    answers, logged = _answers(forged, rankings)
    assert "Warning" not in logged
    notes = [line for line in logged.splitlines() if "the snapshot is rebuilt from the database" in line]
    for path in forged:
        assert answers[str(path)] == expected, path.name
        assert any(f"{path}/snapshot-" in note for note in notes), path.name


def _check_same(source: Path, forged: list[Path], rankings: _Rankings) -> None:
    """Check that copies have the answers of their source."""
    answers, _ = _answers([source, *forged], rankings)
    for path in forged:
        assert answers[str(path)] == answers[str(source)], path.name


@pytest.mark.parametrize("name", [*ARRAYS, *VOCABULARY])
def test_an_array_of_a_snapshot(threads: tuple[Path, Any], tmp_path: Path, name: str) -> None:
    _check(_copies(threads[0], tmp_path, name, (ARRAYS | VOCABULARY)[name], _forgeries(name)), threads[1])


FORGED_SAMPLES: dict[str, _Change] = {
    "odd": lambda array: array[:-1],
    "none": lambda array: array[:0],
    "one less": lambda array: np.delete(array, [0, len(array) // 2]),
    "not numbers": lambda array: array * np.nan,
    "large ids": _set(0, 1e300),
    "other ids": _set(0, 1e6),
    "one id twice": lambda array: np.append(np.full(len(array) // 2, array[0]), array[len(array) // 2 :]),
    "large digests": _set(-1, 1e300),
    "negative digests": _set(-1, -1),
}


def test_the_sample_of_the_documents(threads: tuple[Path, Any], tmp_path: Path) -> None:
    _check(_copies(threads[0], tmp_path, SAMPLE, "<f8", FORGED_SAMPLES), threads[1])


@pytest.mark.parametrize("name", VECTOR_FILES)
def test_given_vectors(factory: CollectionFactory, tmp_path: Path, name: str) -> None:
    """The first stage is searched with `depth`, by a vector of the query."""
    given = factory.closed(documents_with_vectors(40), gamma=0.5, first_stage="given")
    copies = _copies(given, tmp_path, name, VECTOR_FILES[name], _forgeries(name))
    rankings: _Rankings = [
        ("pwmd", {}),
        ("pwmd", {"depth": 6, "vector": [1.0] * DIM}),
        ("vector", {"vector": [1.0] * DIM}),
    ]
    answers, _ = _answers([given], rankings)
    _check(copies, answers[str(given)], rankings)


def test_the_first_stage(threads: tuple[Path, Any], tmp_path: Path) -> None:
    """Indexes of other documents, of other vectors, of another kind, and random changes of one."""
    import faiss

    (snapshot,) = threads[0].glob("snapshot-*")
    original: Any = faiss.read_index(str(snapshot / "first_stage.faiss"))
    ids, dim = faiss.vector_to_array(original.id_map), original.d
    some = np.ones((len(ids), dim), np.float32)
    made = []
    for factory, vectors, own in [
        ("Flat", some, ids + 1000),
        ("Flat", some[1:], ids[1:]),
        ("Flat", np.ones((len(ids), dim + 1), np.float32), ids),
        ("LSH", some, ids),
    ]:
        index = faiss.IndexIDMap2(faiss.index_factory(vectors.shape[1], factory))
        index.train(vectors)
        index.add_with_ids(vectors, own)
        made.append(faiss.serialize_index(index).tobytes())
    made.append(made[0][: len(made[0]) // 2])
    forged = []
    for number, content in enumerate(made):
        directory = Path(shutil.copytree(threads[0], tmp_path / f"{number}"))
        _forge_snapshot(directory, "first_stage.faiss", content)
        forged.append(directory)
    _check(forged, threads[1])


def test_the_encoder(threads: tuple[Path, Any], tmp_path: Path) -> None:
    forged = []
    for number, state in enumerate([{"dim": np.array(7)}, {"dim": np.array(-1)}, {"dim": np.arange(3)}, {}]):
        directory = Path(shutil.copytree(threads[0], tmp_path / f"{number}"))
        save_arrays(tmp_path / "state", state)
        _forge_snapshot(directory, "encoder", (tmp_path / "state").read_bytes())
        forged.append(directory)
    _check(forged, threads[1])


def test_what_is_cached(threads: tuple[Path, Any], tmp_path: Path) -> None:
    """It is computed again, without a note."""
    names = [path.name for path in threads[0].glob("cached-*") if path.suffix != ".json"]
    assert {"cached-postings-words-0.5", "cached-stems-english", "cached-frequencies"} <= set(names), names
    forged = []
    for name in names:
        key = json.loads((threads[0] / name).read_bytes()[32:].split(b"\n")[0])["key"]
        arrays = read_arrays(threads[0] / name, key) or {}
        assert arrays
        for array in arrays:
            changes = OUTSIDE if array in ("starts", "documents", "ends", "of_words") else {}
            for what, change in (SIZES | changes).items():
                directory = Path(shutil.copytree(threads[0], tmp_path / f"{name}, {array}: {what}"))
                write_arrays(directory / name, arrays | {array: change(arrays[array])}, key)
                forged.append(directory)
    _check_same(threads[0], forged, _OF_CACHED)


def test_the_sample_of_mutual_proximity(threads: tuple[Path, Any], tmp_path: Path) -> None:
    (sample,) = threads[0].glob("sample-*")
    arrays = read_arrays(sample) or {}
    forged = []
    for array in ("starts", "words", "weights", "word_ids", "digests", "vectors", "distances"):
        changes = OUTSIDE if array in ("starts", "words") else NEGATIVE if array == "weights" else {}
        for what, change in (SIZES | changes).items():
            directory = Path(shutil.copytree(threads[0], tmp_path / f"{array}: {what}"))
            write_arrays(directory / sample.name, arrays | {array: change(arrays[array])})
            forged.append(directory)
    _check_same(threads[0], forged, _OF_SAMPLE)
