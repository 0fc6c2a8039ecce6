"""Regions of canonical paths: what a path of the command line covers."""

import glob
import os
from pathlib import Path

import pytest

from moverank.indexer.values.scope import Region, Scope, place_of, upwards


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, whose path has no link, with some files in folders."""
    root = Path(os.path.realpath(tmp_path))
    for name in ("d/a.txt", "d/b.md", "d/e/a.txt", "d/e/f/c.txt", "d/ef/a.txt", "other.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize("spelled", ["d", "./d/", "d/e/..", "{here}/d", "link"])
def test_a_folder_is_one_place_however_it_is_spelled(here: Path, spelled: str) -> None:
    (here / "link").symlink_to("d")
    assert place_of(spelled.format(here=here)) == f"{here}/d"


def test_a_link_to_a_file_is_a_place_of_its_own(here: Path) -> None:
    (here / "d" / "link.txt").symlink_to(here / "other.txt")
    assert place_of("d/link.txt") == f"{here}/d/link.txt"


def test_what_is_gone_has_a_place(here: Path) -> None:
    assert place_of("gone/x/../y/") == f"{here}/gone/y"


@pytest.mark.parametrize("stream", ["-", "/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"])
def test_streams_have_no_path(stream: str) -> None:
    assert place_of(stream) == "-"


def test_a_name_that_is_not_utf_8_can_be_stored(here: Path) -> None:
    (here / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    assert place_of(os.fsdecode(b"caf\xe9.txt")) == f"{here}/caf\\udce9.txt"


@pytest.mark.parametrize(
    "pattern", ["d/*", "d/*.txt", "d/**/*.txt", "d/**", "d/e*", "d/?/a.*", "d/e/[a-f]", "*", "d/*/*/*"]
)
def test_a_pattern_covers_the_files_that_it_finds(here: Path, pattern: str) -> None:
    matches = {Path(match) for match in glob.glob(pattern, recursive=True)}  # noqa: PTH207 - what the reader calls
    expected = {
        file for file in here.rglob("*") if file.is_file() and {file, *file.parents} & {here / m for m in matches}
    }
    _, region = Region.of(pattern)
    assert {file for file in here.rglob("*") if file.is_file() and region.covers(str(file))} == expected
    assert not region.covers("/elsewhere/d/a.txt")


def test_a_scope_covers_its_regions_and_touches_the_sources_that_overlap(here: Path) -> None:
    scope = Scope([Region.of("d/e")[1], Region.of("other.txt")[1], Region.of("d/*.md")[1], Region("-:a")])
    covered = [path for path in ("d/e/f/c.txt", "d/a.txt", "d/b.md", "d/ef/a.txt") if scope.covers(f"{here}/{path}")]
    assert covered == ["d/e/f/c.txt", "d/b.md"]
    assert (scope.covers("-:a"), scope.covers("-"), scope.covers("-:b")) == (True, False, False)
    touched = [place for place in ("d", "d/e/f", "d/ef", "other.txt", "gone") if scope.touches(f"{here}/{place}")]
    assert touched == ["d", "d/e/f", "d/ef", "other.txt"]
    assert (scope.touches("/"), scope.touches("-:a"), scope.touches("-")) == (True, True, False)
    assert Scope([Region("/")]).covers("/any/file")


def test_paths_of_windows_have_a_drive() -> None:
    assert list(upwards("C:/notes/a.txt")) == ["C:/notes/a.txt", "C:/notes", "C:/"]
    assert list(upwards("/notes/a.txt")) == ["/notes/a.txt", "/notes", "/"]
    assert list(upwards("-:mail/C:/a")) == ["-:mail/C:/a"]
    assert Region("C:/").covers("C:/notes/a.txt")
    assert Region("C:/notes", ("*.txt",)).covers("C:/notes/a.txt")
    scope = Scope([Region("C:/notes")])
    assert scope.covers("C:/notes/a.txt")
    assert scope.touches("C:/")
    assert not scope.covers("D:/notes/a.txt")


def test_a_process_substitution_of_macos_is_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "realpath", os.fspath)  # on Linux, /dev/fd is a link
    assert place_of("/dev/fd/63") == "-"
