"""README and the manual, taken apart: pages, code blocks, code spans, tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import typer.main

from moverank.cli import app
from moverank.indexer.manual import page, topics

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAM: Any = typer.main.get_command(app)
PAGES = {"README": README} | {topic: page(topic, PROGRAM) for topic in topics()}
ALL_TEXT = "\n".join(PAGES.values())


@dataclass(frozen=True)
class Example:
    """A shell line, a block of Python, or the content of a file, with the number of its first line on the page.

    `info` is what follows the opening fence: the language, and the name of the file where the block is one.
    """

    kind: Literal["shell", "python", "file"]
    line: int
    text: str
    info: str = ""


def examples(text: str) -> Iterator[Example]:
    """Return the examples of a page in their order: lines indented by four blanks, and fenced blocks of code."""
    lines = text.splitlines()
    numbers = iter(range(len(lines)))
    for number in numbers:
        if lines[number].startswith("    "):
            yield Example("shell", number + 1, lines[number].strip())
        elif lines[number].startswith("```"):
            info = lines[number].removeprefix("```")
            block = [lines[inner] for inner in iter(lambda: next(numbers), lines.index("```", number + 1))]
            if info == "text":
                continue  # output, for people
            kind: Literal["python", "file"] = "python" if info == "python" else "file"
            yield Example(kind, number + 2, "\n".join([*block, ""]), info)


def sections(text: str) -> dict[str, str]:
    """Return the sections of a page by their titles, the part before the first by "".

    Blank lines stand for what precedes a section, so that the numbers of its lines are those of the page.
    """
    bounds = [0, *(match.start() for match in re.finditer("^## ", text, re.MULTILINE)), len(text)]
    parts = [(text.count("\n", 0, begin), text[begin:end]) for begin, end in pairwise(bounds)]
    return {_title(part): "\n" * lines + part for lines, part in parts}


def _title(section: str) -> str:
    return section.partition("\n")[0].removeprefix("## ") if section.startswith("## ") else ""


def code_spans(text: str) -> set[str]:
    """Return what stands in backticks outside blocks of code, and each word of it."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    spans = set(re.findall(r"`([^`\n]+)`", prose))
    return spans | {word for span in spans for word in span.split()}


def rows(text: str, first: str) -> Iterator[list[str]]:
    """Return the cells of the rows of the table whose first column has the header `first`."""
    _, found, rest = text.partition(f"\n| {first} |")
    assert found, f"there is no table with the column {first!r}"
    for line in rest.splitlines()[2:]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split(" | ")]


def commands(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Return all commands of a Typer app by their names on the command line, those of groups included."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def options(command: Any) -> set[str]:
    """Return the long options of a command, with the negative forms of switches."""
    names = [name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)]
    return {name for name in names if name.startswith("--")}
