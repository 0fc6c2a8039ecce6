import os
import stat
from pathlib import Path

import pytest

from moverank.indexer.errors import ReadError, UsageError
from moverank.indexer.reading import read_documents
from moverank.indexer.reading.finding.files import Source, find_sources
from moverank.indexer.reading.finding.selection import Selection
from tests.indexer.reading.conftest import Write


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


@pytest.mark.unix
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


@pytest.mark.parametrize("path", ["a.txt", "d", "*.txt"])
def test_a_file_without_permission_is_a_fault(write: Write, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    write("a.txt", "x")
    write("d/a.txt", "x")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything
    (source,) = find_sources([path])
    assert source.name.endswith("a.txt")
    assert source.fault == "cannot be read: permission denied"


@pytest.mark.parametrize("path", ["d", "d/*", "d/**/*.txt"])
def test_a_directory_without_permission_is_a_fault(write: Write, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    write("d/a.txt", "x")
    write("d/e/b.txt", "x")
    scandir = os.scandir

    def denied(path: Path | str) -> object:
        if Path(path).name == "e":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", denied)
    readable, unreadable = sorted(find_sources([path]), key=lambda source: source.name)
    assert (readable.name, readable.fault) == ("d/a.txt", None)
    assert (unreadable.name, unreadable.fault) == ("d/e", "cannot be read: Permission denied")


def test_files_that_cannot_be_examined_are_faults(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    write("d/a.txt", "x")
    stat = os.stat

    def denied(path: Path | str, **options: bool) -> os.stat_result:
        if Path(path).name == "a.txt":
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", denied)
    for path in ("d", "d/a.txt", "d/*.txt"):
        assert [(each.name, each.fault) for each in find_sources([path])] == [
            ("d/a.txt", "cannot be read: Permission denied")
        ]


@pytest.mark.parametrize("pattern", ["g/**/*.txt", "g/**/*", "g/**", "g/*", "g/../g/**/*.txt"])
def test_a_pattern_follows_no_links_to_directories_and_finds_each_file_once(write: Write, pattern: str) -> None:
    for path in ("g/a.txt", "g/b/c.txt", "g/b/d/e.txt", "g/.h/i.txt"):
        write(path, "x")
    for link in ("g/loop", "g/b/loop"):
        Path(link).symlink_to(Path("g").absolute(), target_is_directory=True)
    Path("g/link.txt").symlink_to(Path("g/a.txt").absolute())
    assert sorted(map(os.path.normpath, keys(pattern))) == ["g/a.txt", "g/b/c.txt", "g/b/d/e.txt", "g/link.txt"]


def test_a_link_to_a_directory_that_is_named_is_followed(write: Write) -> None:
    write("e/b.txt", "x")
    Path("link").symlink_to("e", target_is_directory=True)
    assert keys("link") == keys("link/*.txt") == ["link/b.txt"]


@pytest.mark.parametrize("pattern", ["**/*.txt", "*/*.txt", "d/*.t?t", "d/[ab].txt", "/{}/d/*.txt"])
def test_relative_and_absolute_patterns(write: Write, tmp_path: Path, pattern: str) -> None:
    write("d/b.txt", "x")
    pattern = pattern.replace("/{}", str(tmp_path))
    assert [str(Path(key).absolute()) for key in keys(pattern)] == [str(tmp_path / "d/b.txt")]


def test_ignored_files_are_left_out_unless_they_are_named(write: Write) -> None:
    for path in ("d/a.txt", "d/b.log", "d/out/c.txt", "d/e/f.log", "d/e/keep.log"):
        write(path, "x")
    write("d/.gitignore", "*.log\nout/\n")
    write("d/e/.gitignore", "!keep.log\n")
    assert keys("d") == keys("d/*") == keys("d/**") == ["d/a.txt", "d/e/keep.log"]
    assert keys("d/**/*.log") == ["d/e/keep.log"]
    assert keys("d/b.log", "d/out") == ["d/b.log", "d/out/c.txt"]
    every = find_sources(["d"], Selection(gitignore=False))
    assert [source.key for source in every] == ["d/a.txt", "d/b.log", "d/e/f.log", "d/e/keep.log", "d/out/c.txt"]


def test_nothing_but_ignored_files_is_an_error_that_says_so(write: Write) -> None:
    write("d/a.log", "x")
    write("d/.gitignore", "*.log\n")
    for path in ("d", "d/*"):
        with pytest.raises(ReadError, match=r"every file is left out by a \.gitignore, --include or --exclude"):
            find_sources([path])


def test_a_maildir_is_one_source(write: Write) -> None:
    for path in ("m/cur/1.a:2,S", "m/new/2.b", "m/tmp/3.c", "m/.Sent/cur/4.d:2,", "m/.Sent/tmp/x", "m/.x/cur/y"):
        write(path, "Subject: x\n\n")
    write("m/dovecot.index", "x")
    Path("m/.Sent/new").mkdir()
    (box,) = find_sources(["m"])
    assert (box.name, box.format, box.folder, box.size) == ("m", "maildir", None, 36)
    assert [(each.name, each.key, each.folder) for each in box.messages] == [
        ("m/cur/1.a:2,S", "m/1.a", None),
        ("m/new/2.b", "m/2.b", None),
        ("m/.Sent/cur/4.d:2,", "m/.Sent/4.d", "Sent"),
    ]


def test_maildirs_below_a_directory_have_their_names_as_labels(write: Write) -> None:
    for name in ("inbox", "sent"):
        for part in ("cur", "new", "tmp"):
            Path("mail", name, part).mkdir(parents=True)
        write(f"mail/{name}/cur/1:2,", "x")
    write("mail/note.txt", "x")
    assert [(source.name, source.folder) for source in find_sources(["mail"])] == [
        ("mail/inbox", "inbox"),
        ("mail/note.txt", None),
        ("mail/sent", "sent"),
    ]


@pytest.mark.unix
def test_a_pipe_has_no_size(write: Write) -> None:
    write("x", "x")
    os.mkfifo("pipe")
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)  # noqa: PTH116
    assert find_sources(["pipe"]) == [Source("pipe", "pipe")]
