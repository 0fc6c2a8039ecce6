"""Minimal containers: a read-only file system, no home directory, no place for temporary files, the locale C.

Standard input is closed. `index`, `search` and `evaluate` work, or say in one sentence why they cannot.
"""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.indexer.commands.program import WORDS, Answer, write_documents

pytestmark = pytest.mark.slow

# The directory $PLACE may be on a file system of its own. Its subdirectory `free` is writable if $FREE is not empty.
_CONTAINER = """
mount --make-rprivate / && mount --bind / / && mount -o remount,ro,bind / || exit 77
mount --bind "$PLACE" "$PLACE" && mount -o remount,ro,bind "$PLACE" || exit 77
[ -z "$FREE" ] || mount -t tmpfs none "$PLACE/free" || exit 77
cd / && exec env -i PATH="$PATH" LC_ALL=C HOME=/nonexistent "$@" <&-
"""
_PROGRAM = (sys.executable, "-c", "from moverank import cli; cli.run()")
_NOT_CACHED = "compiling for this machine takes some seconds of every run"


def _in_container(place: Path, arguments: tuple[str | Path, ...], *, free: bool = False) -> Answer:
    """Run a command on a read-only file system; `free`: only the directory `free` of `place` is writable."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    command = ["unshare", *user, "--mount", "sh", "-c", _CONTAINER, "sh", *map(str, arguments)]
    variables = os.environ | {"PLACE": str(place), "FREE": "yes" if free else ""}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=300)
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module", autouse=True)
def _container(place: Path) -> None:
    """Skip the tests where a container cannot be made, or where other mounts are writable in it."""
    probe = (sys.executable, "-c", "import tempfile; tempfile.gettempdir()")
    try:
        answer = _in_container(place, probe)
    except FileNotFoundError:
        pytest.skip("needs unshare, of util-linux")
    if "No usable temporary directory" not in answer.err:
        pytest.skip("needs the right to mount a read-only file system")


def moverank(place: Path, *arguments: str | Path, free: bool = False) -> Answer:
    """Run the program in a container."""
    return _in_container(place, (*_PROGRAM, *arguments), free=free)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with documents, word vectors, a collection of them, `old`, and an empty directory, `free`."""
    folder = tmp_path_factory.mktemp("environment")
    write_documents(folder / "documents.jsonl")
    rows = [f"{word} {i % 5}.5 {i * 0.25} {i % 3} 1" for i, word in enumerate(WORDS)]
    (folder / "vectors.txt").write_text(f"{len(rows)} 4\n" + "\n".join(rows) + "\n")
    (folder / "qrels").write_text("".join(f"d{i} 0 d{(i + 3) % 10} 1\n" for i in range(4)))
    body = "cat " * 2**19  # too long to be grouped in memory
    (folder / "Posts.xml").write_text(f'<posts><row Id="1" PostTypeId="1" Title="cat" Body="{body}" /></posts>')
    (folder / "free").mkdir()
    options = ["-i", folder / "old", "--embedding", folder / "vectors.txt"]
    command = [*_PROGRAM, "index", folder / "documents.jsonl", *options]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("embedding", ["vectors.txt", "lsi"])
def test_index_needs_no_other_place_than_its_collection(place: Path, embedding: str) -> None:
    vectors = place / embedding if "." in embedding else embedding
    arguments = ("index", place / "documents.jsonl", "-i", place / "free" / "new", "--embedding", vectors)
    answer = moverank(place, *arguments, free=True)
    assert (answer.code, answer.out[:9]) == (0, "10 added "), answer.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("index {0}/documents.jsonl -i {0}/new", "new cannot be made: Read-only file system"),
        ("index {0}/documents.jsonl -i {0}/old", "old cannot be written to: permission denied, or it is read-only"),
        ("index - -i {0}/free/new", "standard input is closed: there is nothing to read"),
        ("threads {0}/Posts.xml -i {0}/free/new", "temporary files cannot be written: "),
        ("evaluate knn -i {0}/old --csv {0}/x.csv", "x.csv: cannot be written: permission denied, or it is read-only"),
        ("backup {0}/copy -i {0}/old", "copy cannot be written: Read-only file system"),
    ],
)
def test_what_needs_another_place_says_so(place: Path, arguments: str, sentence: str) -> None:
    answer = moverank(place, *arguments.format(place).split(), free=True)
    assert answer.code in (1, 2)
    assert answer.out == ""
    assert sentence in answer.sentence


def test_search_compiles_at_each_run(place: Path) -> None:
    arguments = ("search", "cat and dog", "-i", place / "old", "--rank", "wmd", "--json")  # the fewest kernels
    answer = moverank(place, *arguments)
    assert answer.sentence.startswith(_NOT_CACHED)
    assert answer.sentence.endswith("name a directory for the compiled code by NUMBA_CACHE_DIR")
    outside = subprocess.run([*_PROGRAM, *map(str, arguments)], check=True, capture_output=True)
    assert [hit["key"] for hit in answer.json["hits"]] == [hit["key"] for hit in json.loads(outside.stdout)["hits"]]


def test_search_caches_its_code_in_a_directory_for_temporary_files(place: Path) -> None:
    search = [*_PROGRAM, "search", "cat", "-i", str(place / "old"), "-k", "1", "--rank", "wcd", "--json"]
    twice = 'export TMPDIR="$0"; "$@" && "$@" && stat -c "%A" "$0"/.moverank-*'
    answer = _in_container(place, ("sh", "-c", twice, place / "free", *search), free=True)
    first, second, mode = answer.out.splitlines()
    assert json.loads(first)["hits"] == json.loads(second)["hits"]
    assert mode == "drwx------"
    assert f"{place / 'free'}/.moverank-" in answer.sentence  # of the first run alone


def test_evaluate_needs_no_cache(place: Path) -> None:
    arguments = ("evaluate", "knn", "-i", place / "old", "--method", "rwmd", "-k", "1", "--times", "1", "--json")
    answer = moverank(place, *arguments)
    assert answer.code == 0, answer.err
    assert answer.json["rows"][0]["method"] == "rwmd"
    notes = answer.err.splitlines()
    assert any("distances are computed, but not cached" in note for note in notes)
    assert all(note.startswith("moverank: ") for note in notes)


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="needs matplotlib, of the extra plot")
def test_a_figure_without_a_place_is_reported(place: Path) -> None:
    arguments = ("evaluate", "retrieval", "-i", place / "old", "--qrels", place / "qrels")
    answer = moverank(place, *arguments, "--plot", place / "free" / "figure.svg", free=True)
    assert answer.code == 1
    assert "figures cannot be drawn: Matplotlib requires access to a writable cache directory" in answer.err
    assert "Traceback" not in answer.err
