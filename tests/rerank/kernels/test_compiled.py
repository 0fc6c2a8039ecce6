"""Where compiled code is cached if numba's own places are not writable; in a container: tests/test_environments.py."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from moverank.rerank.kernels import compiled
from moverank.rerank.kernels.compiled import code_cache_directory


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory for temporary files of a process in which numba finds no place for its cache."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(compiled, "_lacks_home", lambda: True)
    code_cache_directory.cache_clear()
    yield tmp_path
    code_cache_directory.cache_clear()


def test_numba_chooses_where_it_can() -> None:
    assert code_cache_directory() == ""


def _compile() -> None:
    @compiled.compiled()  # type: ignore[untyped-decorator]
    def double(x: int) -> int:
        return 2 * x

    assert double(4) == 8


def test_a_directory_of_ones_own_is_made_and_used(temporary: Path) -> None:
    own = temporary / f".moverank-{os.geteuid()}"
    assert code_cache_directory() == str(own)
    assert own.stat().st_mode & 0o777 == 0o700
    _compile()
    assert list(own.rglob("*double*.nbi"))


def test_a_directory_that_others_can_write_to_is_not_trusted(temporary: Path) -> None:
    own = temporary / f".moverank-{os.geteuid()}"
    own.mkdir(mode=0o777)
    own.chmod(0o777)
    assert code_cache_directory() is None
    _compile()
    assert list(own.iterdir()) == []


def test_a_link_is_not_trusted(temporary: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    elsewhere.chmod(0o700)
    (temporary / f".moverank-{os.geteuid()}").symlink_to(elsewhere)
    assert code_cache_directory() is None


def test_without_a_place_for_temporary_files_nothing_is_cached(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    assert code_cache_directory() is None
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
def test_the_first_compilation_is_logged_once(tmp_path: Path) -> None:
    """What a kernel of two types says on standard error of a program that has not set up logging."""
    (tmp_path / "kernel.py").write_text(
        "from moverank.rerank.kernels.compiled import compiled\n"
        "@compiled()\ndef twice(x): return 2 * x\n"
        "print(twice(1), twice(1.5))\n"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    sentence = "compiling for this machine: this takes some seconds, once for each part that is used\n"
    for expected in (sentence, ""):
        command = [sys.executable, "-c", "import kernel"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == ("2 3.0\n", expected)
