"""SQLite and PostgreSQL store the same, find the same by filters, and reject the same records, up to every limit."""

import json
import os
import random
import string
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection, Document, Part, Settings
from moverank.indexer.errors import CollectionError, UsageError
from moverank.indexer.files.location import TRUSTED
from moverank.indexer.maintenance.check import check_collection
from moverank.indexer.reading import read_documents
from moverank.indexer.reading.finding.origins import Origins
from tests.postgres_store import database_in

pytestmark = [pytest.mark.sqlite("both stores are in each test"), pytest.mark.usefixtures("postgres")]

_LETTERS = string.ascii_letters + string.digits
_BICYCLE = "\U0001f6b2"  # four bytes
VECTORS = "3 2\nplug 1 0\ntrain 0 1\nheater 0.9 0.1\n"


def _noise(length: int, seed: int = 0) -> str:
    """Return a text that no compression makes much shorter."""
    return "".join(random.Random(seed).choices(_LETTERS, k=length))  # noqa: S311


RECORDS: list[dict[str, Any]] = [
    {"id": "plain", "text": "plug", "label": "short", "n": 3},
    {"id": _noise(2000), "text": "plug, a key at the limit"},
    {"id": _noise(2001), "text": "plug, a key beyond it"},
    {"id": "ä" * 1000, "text": "plug, 2,000 bytes"},
    {"id": "ä" * 1000 + "b", "text": "plug, 2,001 bytes"},
    {"id": "word", "text": f"plug {_noise(2968)} train"},
    {"id": "words", "text": f"plug {_noise(100_000, 1)} {_noise(2968)} train"},
    {"id": "label", "text": "train", "label": _noise(9000)},
    {"id": "other label", "text": "train", "label": f"{_noise(9000)}!"},
    {"id": "metadata", "text": "train", "body": _noise(2_000_000), "tags": [_noise(3000, i) for i in range(9)]},
    {"id": "at the limit", "text": "train", "body": _noise(2000)},
    {"id": "beyond", "text": "train", "body": _noise(2001)},
    {"id": "wide", "text": "train", "body": _BICYCLE * 600},
    {"id": "name", "text": "heater", _noise(500): "plug"},
    {"id": "long name", "text": "heater", _noise(501): "plug"},
    {"id": "nested name", "text": "heater", "a": {_noise(300): {_noise(300): "plug"}}},
    {"id": "number", "text": "heater", "n": 10**2500, "m": 0.1},
    {"id": "title", "title": _noise(20_000), "text": "heater"},
    {"id": "nul\0", "text": "heater"},
    {"id": "nul in a text", "text": "heater\0"},
    {"id": "half", "text": "heater \ud800"},
    {"id": "half in a field", "text": "heater", "body": ["\udfff"]},
    {"id": "half in a name", "text": "heater", "\udfff": 1},
    {"id": "\uffff\U0010ffff", "text": "heater", "body": "\U0010ffff"},
]
REJECTED = [_noise(2001), "ä" * 1000 + "b", "long name", "nested name", "nul\0", "nul in a text", "half"]
REJECTED += ["half in a field", "half in a name"]

FILTERS: list[Any] = [
    f"label={_noise(9000)}",
    f"label!={_noise(9000)}",
    f"label^={_noise(2000)}",
    f"label^={_noise(2000)[:-1]}?",
    {"label": [_noise(9000), "short"]},
    f"body={_noise(2_000_000)}",
    f"body^={_noise(1999)}",
    f"body={_noise(2000)}",
    f"body={_noise(2001)}",
    f"body^={_BICYCLE * 500}",
    f"body={_BICYCLE * 600}",
    "body=\U0010ffff",
    f"tags={_noise(3000, 4)}",
    ["body", f"tags!={_noise(3000, 4)}"],
    _noise(500),
    f"n={10**2500}",
    "n>2",
    "n<4",
    "!body",
]


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Collection, Collection]]:
    """Yield two empty collections, one in a SQLite file and one in PostgreSQL."""
    (tmp_path / "vectors.txt").write_text(VECTORS)
    settings = Settings(embedding=str(tmp_path / "vectors.txt"))
    shared = tmp_path / "shared"
    database_in(shared)
    monkeypatch.setenv(TRUSTED, str(tmp_path))
    with ExitStack() as opened:
        made = [opened.enter_context(Collection.create(place, settings)) for place in (tmp_path / "file", shared)]
        yield made[0], made[1]


def _read(path: Path, collections: Sequence[Collection]) -> tuple[list[Any], list[Any]]:
    """Index the records of a file in each collection; return the changes, and the rejections by key."""
    changes, rejections = [], []
    for collection in collections:
        rejected: list[Any] = []
        origins = Origins([str(path)])
        records = read_documents([str(path)], origins=origins)
        changes.append(collection.index(records, scope=origins.scope, rejected=rejected.append))
        rejections.append([(each.key, str(each)) for each in rejected])
    return changes, rejections


def test_records_at_the_limits_and_beyond(tmp_path: Path, both: tuple[Collection, Collection]) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in RECORDS))
    (changes, other), (rejected, others) = _read(path, both)
    assert (changes, rejected) == (other, others)
    assert [key for key, _ in rejected] == REJECTED
    assert changes.added == len(RECORDS) - len(REJECTED)
    file, shared = both
    stored = list(file)
    assert stored == list(shared)
    assert {one.key: one.metadata.get("body") for one in stored} == {
        record["id"]: record.get("body") for record in RECORDS if record["id"] not in REJECTED
    }
    for collection in both:
        assert collection.index(stored).unchanged == len(stored)
        assert [collection.get(each.key) for each in stored] == stored
        assert check_collection(collection.path).sentences() == ()
    rankings = [collection.search(f"plug {_noise(2968)}", k=50, rank="bm25") for collection in both]
    assert [(hit.key, hit.score) for hit in rankings[0].hits] == [(hit.key, hit.score) for hit in rankings[1].hits]
    assert {hit.key for hit in rankings[0].hits[:2]} == {"word", "words"}


def test_filters_on_long_values(tmp_path: Path, both: tuple[Collection, Collection]) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in RECORDS))
    _read(path, both)
    kept = [record for record in RECORDS if record["id"] not in REJECTED]

    def values(record: dict[str, Any], field: str) -> list[str]:
        own = record.get(field, [])
        return [one if isinstance(one, str) else json.dumps(one) for one in (own if isinstance(own, list) else [own])]

    for where in FILTERS:
        found = [list(collection.keys(where)) for collection in both]
        assert found[0] == found[1], where
        if isinstance(where, str) and "^=" in where:
            field, _, start = where.partition("^=")
            assert found[0] == [each["id"] for each in kept if any(v.startswith(start) for v in values(each, field))]
        elif isinstance(where, str) and "=" in where:
            field, _, value = where.partition("=")
            negated, field = field.endswith("!"), field.removesuffix("!")
            assert found[0] == [each["id"] for each in kept if (value in values(each, field)) != negated], where
    for collection in both:
        assert list(collection.keys(["n>2"])) == ["plain"]
        with pytest.raises(UsageError, match="a prefix has at most 2,000 bytes; = takes any value"):
            list(collection.keys(f"body^={_noise(2001)}"))


@pytest.mark.parametrize("key", ["a\0", "\ud800", "\udfff" * 900])
def test_keys_that_no_document_can_have(both: tuple[Collection, Collection], key: str) -> None:
    for collection in both:
        collection.index([Document("a", parts=(Part("plug"),))])
        assert key not in collection
        assert collection.get(key) is None
        with pytest.raises(CollectionError, match="no document"):
            collection.similar(key)
        with pytest.raises(CollectionError, match="no document"):
            collection.remove([key])


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (Document("k" * 2001, parts=(Part("plug"),)), "the key has 2,001 bytes, over the limit of 2,000: shorten it"),
        (Document("a", parts=(Part("plug"),), metadata={"n" * 501: 1}), "has a field whose name has 501 bytes, over"),
    ],
)
def test_documents_of_a_program(both: tuple[Collection, Collection], document: Document, reason: str) -> None:
    for collection in both:
        with pytest.raises(UsageError, match=reason):
            collection.index([document])
        assert len(collection) == 0


def test_a_file_in_a_very_deep_folder(
    tmp_path: Path, both: tuple[Collection, Collection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path has more bytes than the system takes at once, so that only a path from there reads the file."""
    monkeypatch.chdir(tmp_path)
    for number in range(13):
        os.mkdir(_noise(250, number))  # noqa: PTH102
        monkeypatch.chdir(_noise(250, number))
    Path("docs.jsonl").write_text('{"id": "deep", "text": "plug"}\n')
    (changes, other), _ = _read(Path("docs.jsonl"), both)
    assert (changes.added, other.added) == (1, 1)
    places = [stored.source and stored.source.place for stored in both[1].sources()]
    assert len(str(places[0])) > 3000
    assert places == [stored.source and stored.source.place for stored in both[0].sources()]
    monkeypatch.chdir(tmp_path)


def test_a_prefix_that_makes_keys_too_long(tmp_path: Path, both: tuple[Collection, Collection]) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text(json.dumps({"id": _noise(1990), "text": "plug"}))
    _read(path, both)
    for collection in both:
        known = [stored.source for stored in collection.sources() if stored.source]
        origins = Origins([str(path)], known, prefix="a-long-prefix")
        with pytest.raises(CollectionError, match=r"nothing was changed: with the prefix, the key has 2,004 bytes"):
            collection.index(read_documents([str(path)], origins=origins), scope=origins.scope)
        assert list(collection.keys()) == [_noise(1990)]
