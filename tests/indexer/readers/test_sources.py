import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from moverank.indexer.errors import ReadError, UsageError
from moverank.indexer.readers import read_documents
from moverank.indexer.readers.sources import Source, find_sources

Write = Callable[[str, str | bytes], str]


def keys(*paths: str) -> list[str]:
    return [source.key for source in find_sources(paths)]


def test_a_directory_is_searched_in_sorted_order_without_hidden_files(write: Write) -> None:
    for path in ("d/b.txt", "d/a/z.txt", "d/a.txt", "d/.hidden", "d/.git/config", "d/c/.x/y.txt"):
        write(path, "x")
    assert keys("d") == keys("./d") == ["d/a/z.txt", "d/a.txt", "d/b.txt"]
    assert [source.name for source in find_sources(["d"])] == ["d/a/z.txt", "d/a.txt", "d/b.txt"]


def test_folder_is_the_directory_below_the_given_one(write: Write) -> None:
    write("d/sci.med/1", "x")
    write("d/2", "x")
    assert [source.folder for source in find_sources(["d"])] == [None, "sci.med"]
    assert [source.folder for source in find_sources(["d/sci.med"])] == [None]


def test_links_to_directories_are_not_followed_but_links_to_files_are(write: Write) -> None:
    write("d/a.txt", "x")
    write("e/b.txt", "x")
    Path("d/loop").symlink_to(Path("d").absolute(), target_is_directory=True)
    Path("d/elsewhere").symlink_to(Path("e").absolute(), target_is_directory=True)
    Path("d/file.txt").symlink_to(Path("e/b.txt").absolute())
    Path("d/nowhere.txt").symlink_to("missing")
    os.mkfifo("d/pipe")
    assert keys("d") == ["d/a.txt", "d/file.txt"]


def test_a_file_keeps_its_given_name(write: Write) -> None:
    write("d/a.txt", "four")
    assert find_sources(["./d/a.txt", "-"]) == [Source("./d/a.txt", "d/a.txt", size=4), Source("-", "-")]


def test_a_pattern_matches_as_in_the_shell(write: Write) -> None:
    for path in ("d/b.txt", "d/a.txt", "d/.h.txt", "d/c.md", "d/e/f.txt"):
        write(path, "x")
    assert keys("d/*.txt") == ["d/a.txt", "d/b.txt"]
    assert keys("d/**/*.txt") == ["d/a.txt", "d/b.txt", "d/e/f.txt"]
    assert keys("d/*") == ["d/a.txt", "d/b.txt", "d/c.md", "d/e/f.txt"]
    assert keys("d/*") == keys("d/a.txt", "d/b.txt", "d/c.md", "d/e")


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(write: Write) -> None:
    write("a[1].txt", "x")
    write("a1.txt", "x")
    assert keys("a[1].txt") == ["a[1].txt"]


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["missing.txt"], "missing.txt: there is no such file or directory"),
        (["*.nope"], r"\*.nope: no file matches this pattern"),
        (["empty"], "empty: there is no file in this directory"),
        (["a" * 300], "cannot be read: File name too long"),
    ],
)
def test_a_path_without_files_is_an_error(write: Write, paths: list[str], message: str) -> None:
    write("good.txt", "x")
    Path("empty").mkdir()
    with pytest.raises(ReadError, match=message):
        read_documents(["good.txt", *paths])  # at once, not when the first document is read


@pytest.mark.parametrize(("paths", "message"), [([], "no path"), (["-", "-"], "twice"), ("docs", "not one string")])
def test_invalid_lists_of_paths(paths: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_sources(paths)


@pytest.mark.parametrize("path", ["a.txt", "d"])
def test_a_file_without_permission_is_an_error(write: Write, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    write("a.txt", "x")
    write("d/a.txt", "x")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything
    with pytest.raises(ReadError, match=r"a\.txt: cannot be read: permission denied"):
        find_sources([path])


def test_a_directory_without_permission_is_an_error(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("d/e/a.txt", "x")

    def scandir(path: object) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(ReadError, match="d: cannot be read: Permission denied"):
        find_sources(["d"])


def test_a_pipe_has_no_size(write: Write) -> None:
    write("x", "x")
    os.mkfifo("pipe")
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)  # noqa: PTH116
    assert find_sources(["pipe"]) == [Source("pipe", "pipe")]
