from typing import Any

import pytest

from moverank.indexer.reading.formats.text import split_front_matter
from moverank.indexer.values.documents import Document, Part
from tests.indexer.reading.conftest import Read, Write

NOTE = """---
title: Hot plugs
date: 2021-03-05
updated: 2021-03-05T10:00:00+01:00
tags: [power, home]
category: advice
draft: false
rating: 4.5
nested: {a: b}
nothing:
---
# Hot plugs #

They *melt*.
"""


def test_front_matter_is_metadata(write: Write, documents: Read) -> None:
    ((note,), rejected) = documents(write("d/note.md", NOTE))
    assert rejected == []
    assert note == Document(
        "d/note.md",
        "Hot plugs",
        (Part("Hot plugs\n\nThey *melt*.\n"),),
        "advice",
        {
            "date": "2021-03-05",
            "updated": "2021-03-05T09:00:00Z",
            "tags": ["power", "home"],
            "draft": False,
            "rating": 4.5,
            "nested": {"a": "b"},
        },
    )
    assert documents(write("d/note.md", NOTE.replace("\n", "\r\n"))) == ([note], [])


@pytest.mark.parametrize(
    ("text", "title", "body"),
    [
        ("# Plugs\n\nhot", "Plugs", "Plugs\n\nhot"),
        ("\n## Plugs ##\nhot", "Plugs", "Plugs\nhot"),
        ("Plugs\n=====\nhot", "Plugs", "Plugs\n=====\nhot"),
        ("plain text", "plain text", "plain text"),
        ("#hashtag", "#hashtag", "#hashtag"),
        ("---\n\na text\n\n---\n\nbetween rules", "---", "---\n\na text\n\n---\n\nbetween rules"),
        ("---\nno end: of it\n", "---", "---\nno end: of it\n"),
        ("---\n---\n# Plugs\n", "Plugs", "Plugs\n"),
        ("---\nauthor: x\n...\nPlugs\n", "Plugs", "Plugs\n"),
        ("+++\ntitle = 'Plugs'\n+++\nhot", "Plugs", "hot"),
        ("---\ntitle: 2021\n---\nhot", "2021", "hot"),
    ],
)
def test_titles_and_texts(write: Write, documents: Read, text: str, title: str, body: str) -> None:
    ((note,), rejected) = documents(write("a.md", text))
    assert rejected == []
    assert (note.title, note.parts, note.title_counts) == (title, (Part(body),), True)


@pytest.mark.parametrize(
    ("front", "reason"),
    [
        ("---\nx: 1\ntitle: Plugs: hot\n---\n", "its front matter is broken YAML in line 3 (mapping values are not"),
        ("---\ntitle: [\n---\n", "its front matter is broken YAML in line "),
        ("---\na: &a [x]\nb: *a\n---\n", "its front matter has a YAML alias (*name): write the value itself"),
        ("---\na: &a {<<: *a}\n---\n", "its front matter has a YAML alias"),
        ("---\n" + "- " * 5000 + "x\n---\n", "its front matter is broken YAML ("),
        ("---\n" + "[" * 5000 + "x\n---\n", "its front matter is broken YAML"),
        ("---\ndate: 2021-02-30\n---\n", "its front matter is broken YAML (day is out of range"),
        ("---\nx: " + "9" * 5000 + "\n---\n", "its front matter is broken YAML (Exceeds the limit"),
        ("---\nx: !!python/object/apply:os.system [ls]\n---\n", "its front matter is broken YAML in line 2 (could not"),
        ("---\nx: \x00\n---\n", "its front matter is broken YAML ("),
        ("---\n? [a, b]\n: c\n---\n", "its front matter is broken YAML in line 2 ("),
        ("---\nx: .inf\n---\n", "'x' is no finite number"),
        ("+++\ntitle = \n+++\n", "its front matter is broken TOML ("),
    ],
)
def test_malformed_front_matter(write: Write, documents: Read, front: str, reason: str) -> None:
    found, (rejection,) = documents(write("a.md", front + "text"))
    assert found == []
    assert rejection.reason.startswith(reason)
    assert (rejection.source, rejection.key) == ("a.md", "a.md")
    assert "\n" not in rejection.reason


def test_long_front_matter_is_text() -> None:
    text = "---\n" + "x: y\n" * 20_000 + "---\n"
    assert split_front_matter(text) == ({}, text)


@pytest.mark.parametrize("value", ["!!binary aGk=", "!!set {a, b}"])
def test_values_of_other_types_are_no_metadata(write: Write, documents: Read, value: str) -> None:
    ((note,), _) = documents(write("a.md", f"---\nx: {value}\n---\ntext"))
    assert note.metadata == {}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("!!omap [a: b]", [["a", "b"]]),
        ("[[1, 2]]", [[1, 2]]),
        ("{7: 2021-03-05, when: [2021-03-05]}", {"7": "2021-03-05", "when": ["2021-03-05"]}),
        ("[!!binary aGk=, a]", [None, "a"]),
    ],
)
def test_values_may_be_nested(write: Write, documents: Read, value: str, expected: Any) -> None:
    ((note,), _) = documents(write("a.md", f"---\nx: {value}\n---\ntext"))
    assert note.metadata == {"x": expected}


def test_names_are_strings() -> None:
    front: tuple[dict[str, Any], str] = split_front_matter("---\n7: x\nyes: y\n2021-03-05: z\n---\n")
    assert front == ({"7": "x", "yes": "y", "2021-03-05": "z"}, "")


def test_front_matter_is_yaml_1_2(write: Write, documents: Read) -> None:
    front = "author: no\nn: 1_000\nt: 12:30:45\no: 0o14\nv: 1.10\ni: 7\nz: 007\nf: -2.5\nb: True\nd: 2021-03-05\ny: y\n"
    (found,), _ = documents(write("a.md", f"---\n{front}---\ntext"))
    assert found.metadata == {
        "author": "no", "n": "1_000", "t": "12:30:45", "o": "0o14", "v": "1.10", "i": 7, "z": "007", "f": -2.5,
        "b": True, "d": "2021-03-05", "y": "y",
    }  # fmt: skip
