"""README: its first screen, its length, its links and its map of the rooms; what each folder says of itself."""

import ast
import re
from importlib.metadata import version
from pathlib import Path

import pytest

from moverank.indexer.manual import topics
from tests.contracts.documentation import PAGES, README, ROOT, examples, rows

MANUAL = ROOT / "indexer" / "manual"
FOLDERS = sorted(
    file for folder in ("rerank", "indexer", "migrations") for file in (ROOT / folder).rglob("__init__.py")
)


def test_the_first_screen_shows_the_two_commands() -> None:
    commands = re.findall(r"^    (python -m pip .*)$", README, re.MULTILINE)
    assert len(commands) == 2
    assert all(README.splitlines().index(f"    {command}") < 40 for command in commands)
    assert commands[0].endswith("&& moverank demo")
    assert f"\n{commands[1]}\n" in (ROOT / ".ci" / "run").read_text()
    assert f" run: {commands[1]}\n" in (ROOT / ".github" / "workflows" / "check.yml").read_text()


def test_it_is_read_in_two_minutes() -> None:
    lines = README.splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= 140
    assert max(len(section.splitlines()) for section in README.split("\n## ")) <= 40


def test_readme_names_every_page_of_the_manual_once() -> None:
    """`moverank help` lists them with their summaries: see tests/indexer/commands/test_help.py."""
    (paragraph,) = [each for each in README.split("\n\n") if each.startswith("`moverank help` lists the pages")]
    named = re.findall(r"`(\w+)`", paragraph)
    assert sorted(named) == sorted(topics())


def test_the_changelog_begins_with_the_version_and_a_release_is_one_screen() -> None:
    releases = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]
    first = releases[0].splitlines()[0]
    assert first == "Unreleased" or re.fullmatch(rf"{re.escape(version('moverank'))}, \d{{4}}-\d\d-\d\d", first)
    assert max(len(release.splitlines()) for release in releases) <= 45
    assert max(len(line) for release in releases for line in release.splitlines()) <= 140


def test_readme_reads_alike_wherever_it_is_shown() -> None:
    """A package index shows it without the files beside it: links are absolute, and there are no pictures."""
    assert "![" not in README
    assert not re.search(r"\]\((?!https://)", README)


@pytest.mark.parametrize("name", PAGES)
def test_relative_links_lead_to_a_file_and_a_heading(name: str) -> None:
    base = ROOT if name == "README" else MANUAL
    for link in re.findall(r"\]\(([^)\s]+)\)", PAGES[name]):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = base / path
        assert target.is_file(), link
        if anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            assert anchor in map(_anchor, headings), link


def _anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_the_map_names_every_room_of_the_core() -> None:
    rooms = {"rerank": set[str](), "indexer": set[str]()}
    folder = ""
    for name, _, cell in rows(README, "folder"):
        folder = name.strip("`/") or folder
        rooms.get(folder, set()).update(re.findall(r"`(\w+)`", cell))
    for folder, named in rooms.items():
        assert named == {file.parent.name for file in (ROOT / folder).glob("*/__init__.py")} - {"plugins"}
    assert all(
        (ROOT / name.strip("`/")).is_dir() for name, *_ in rows(README, "folder") if re.fullmatch(r"`\w+/`", name)
    )


@pytest.mark.parametrize("file", FOLDERS, ids=lambda file: file.parent.relative_to(ROOT).as_posix())
def test_every_folder_says_what_it_is_for(file: Path) -> None:
    """In the first sentence of its `__init__.py`, which is all of the first line."""
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    assert docstring
    assert re.match(r"[A-Z`].{20,}\.(\n\n|$)", docstring)


@pytest.mark.parametrize("name", PAGES)
def test_scripts_that_are_named_exist(name: str) -> None:
    own = {example.info.rpartition("/")[2] for example in examples(PAGES[name])}
    for script in set(re.findall(r"\b\w+\.py\b", PAGES[name])) - own:
        assert (ROOT / "tests" / "benchmarks" / script).is_file(), script
    for file in re.findall(r"tests/benchmarks/\w+\.\w+", PAGES[name]):
        assert (ROOT / file).is_file(), file
