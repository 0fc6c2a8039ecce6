"""The files that a selection keeps; for `.gitignore`, Git is the oracle."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import UsageError
from moverank.indexer.reading.finding.files import find_sources
from moverank.indexer.reading.finding.selection import Selection
from tests.indexer.reading.conftest import Write
from tests.samples import examples

NAMES = ("a", "b", "a.txt", "b.log")
RULES = st.lists(
    st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["", "", "!"]),
        st.sampled_from(["", "", "/", "**/", "a/", "b/**/"]),
        st.sampled_from([*NAMES, "*", "*.log", "?", "[ab]", "a*", "*.*", "*a*", "*?*.*", "a*.*t*", "*[a-m]*d"]),
        st.sampled_from(["", "", "/", "/*", "/**"]),
    )
    | st.sampled_from(["# a comment", "", "!", "\\", "a.txt  ", "\\!a"]),
    max_size=4,
)


def read(path: str, selection: Selection) -> list[str]:
    return [source.key for source in find_sources([path], selection)]


@pytest.mark.skipif(shutil.which("git") is None, reason="Git is the oracle")
@examples(0.5)
@given(rules=st.dictionaries(st.sampled_from(["", "a", "b", "a/a", "a/b"]), RULES, max_size=3), below=st.booleans())
def test_ignored_files_are_those_that_git_ignores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: dict[str, list[str]], below: bool
) -> None:
    repository = tmp_path / "repository"
    shutil.rmtree(repository, ignore_errors=True)
    for directory in ("", "a", "b", "a/a", "a/b", "b/a"):
        (repository / directory).mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            if not directory.count("/") or name not in "ab":
                (repository / directory / f"{name}{'' if '.' in name else '.md'}").write_text("x")
    (repository / "z.keep").write_text("x")
    (repository / "a" / "z.keep").write_text("x")
    for directory, lines in rules.items():
        (repository / directory / ".gitignore").write_text("".join(f"{line}\n" for line in lines))
    with (repository / "a" / ".gitignore").open("a") as file:
        file.write("!z.keep\n")
    git = ["git", "-c", "core.excludesFile=/dev/null"]
    subprocess.run([*git, "init", "-q", repository], check=True)
    root = repository / "a" if below else repository
    listed = subprocess.run(
        [*git, "ls-files", "--others", "--exclude-standard"], cwd=root, capture_output=True, check=True, text=True
    ).stdout.split()
    expected = sorted(name for name in listed if not name.endswith(".gitignore"))
    monkeypatch.chdir(root)
    if expected:
        assert sorted(read(".", Selection())) == expected
        absolute = read(str(root), Selection())
        assert sorted(os.path.relpath(key, root) for key in absolute) == expected


def test_include_and_exclude(write: Write) -> None:
    for path in ("d/a.md", "d/b.txt", "d/drafts/c.md", "d/e/drafts/f.md", "d/e/g.md"):
        write(path, "x")
    assert read("d", Selection(include=("*.md",))) == ["d/a.md", "d/drafts/c.md", "d/e/drafts/f.md", "d/e/g.md"]
    assert read("d", Selection(include=("*.md",), exclude=("drafts/",))) == ["d/a.md", "d/e/g.md"]
    assert read("d", Selection(exclude=("/drafts",))) == ["d/a.md", "d/b.txt", "d/e/drafts/f.md", "d/e/g.md"]
    assert read("d", Selection(exclude=("*.md", "!g.md"))) == ["d/b.txt", "d/e/g.md"]
    assert read("d", Selection(include=("e/",), exclude=("drafts/",))) == ["d/e/g.md"]
    assert read("d/**/*.md", Selection(exclude=("drafts/",))) == ["d/a.md", "d/e/g.md"]
    assert read("d/b.txt", Selection(include=("*.md",))) == ["d/b.txt"]  # it is named


def test_a_directory_that_is_ignored_itself_is_read_if_it_is_named(write: Write) -> None:
    Path(".git").mkdir()
    write(".gitignore", "build/\n*.o\n")
    for path in ("build/a.txt", "build/b.o", "src/a.txt", "src/b.o"):
        write(path, "x")
    assert read(".", Selection()) == read("src", Selection()) == ["src/a.txt"]
    assert read("build", Selection()) == ["build/a.txt", "build/b.o"]


def test_rules_above_a_directory_hold_only_within_a_repository(write: Write) -> None:
    write(".gitignore", "*.txt\n")
    write("d/a.txt", "x")
    assert read("d", Selection()) == ["d/a.txt"]


@pytest.mark.parametrize(
    ("option", "selection"), [("include", Selection(include=("!",))), ("exclude", Selection(exclude=("!",)))]
)
def test_an_invalid_pattern_is_a_usage_error(write: Write, option: str, selection: Selection) -> None:
    write("d/a.txt", "x")
    with pytest.raises(UsageError, match=f"--{option}: '!' is no pattern as in a .gitignore"):
        find_sources(["d"], selection)


def test_malicious_patterns_end(write: Write) -> None:
    write(f"d/{'a' * 200}", "x")
    for pattern in ("*a" * 60 + "b", "*?" * 60 + "b", "**/" * 60 + "b", "*[ab]" * 60 + "/b"):
        write("d/.gitignore", f"{pattern}\n")
        assert read("d", Selection()) == [f"d/{'a' * 200}"]


@pytest.mark.unix
def test_an_ignore_file_that_is_no_regular_file(write: Write) -> None:
    write("d/a.txt", "x")
    os.mkfifo("d/.gitignore")
    assert read("d", Selection()) == ["d/a.txt"]


def test_an_ignore_file_that_is_not_utf8_is_followed(write: Write) -> None:
    for path in ("d/a.txt", "d/b.log"):
        write(path, "x")
    write("d/.gitignore", b"# caf\xe9\n*.log\n")
    assert read("d", Selection()) == ["d/a.txt"]
