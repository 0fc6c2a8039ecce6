"""Dumps of forums that are cut, or have changed bytes: stored threads lose no post, and every loss is reported."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from moverank import Collection
from moverank.indexer.reading import read_threads
from moverank.indexer.values.documents import Changes, Rejection
from tests.indexer.world import MakeCollection

THREADS = 30


def _posts() -> str:
    """Return a dump of questions, each followed by two answers at the end of the file."""
    rows = [f'<row Id="{i}" PostTypeId="1" Title="ant {i}" Body="bee {i}"/>\n' for i in range(1, THREADS + 1)]
    for answer in (1, 2):
        rows += [
            f'<row Id="{100 * answer + i}" PostTypeId="2" ParentId="{i}" Body="cat {answer} {i}"/>\n'
            for i in range(1, THREADS + 1)
        ]
    return f'<?xml version="1.0" encoding="utf-8"?>\n<posts>\n{"".join(rows)}</posts>\n'


def _mbox() -> str:
    """Return an mbox with the same threads; the replies are at its end."""
    head = "From ann@x Mon Mar  1 10:00:00 2021\n"
    mails = [f"{head}Message-ID: <{i}@x>\nSubject: ant {i}\n\nbee {i}\n\n" for i in range(1, THREADS + 1)]
    for answer in (1, 2):
        mails += [
            f"{head}Message-ID: <{answer}.{i}@x>\nReferences: <{i}@x>\nSubject: Re: ant {i}\n\ncat {answer} {i}\n\n"
            for i in range(1, THREADS + 1)
        ]
    return "".join(mails)


def _lines() -> str:
    """Return JSON lines with the same threads."""
    threads = (
        {"id": str(i), "title": f"ant {i}", "body": f"bee {i}", "comments": [{"text": f"cat {n} {i}"} for n in (1, 2)]}
        for i in range(1, THREADS + 1)
    )
    return "".join(json.dumps(thread) + "\n" for thread in threads)


DUMPS: dict[str, Callable[[], str]] = {"Posts.xml": _posts, "a.mbox": _mbox, "a.jsonl": _lines}
NAMES = ["Posts.xml.gz", "a.mbox.gz", "Posts.xml", "a.jsonl.gz"]


def _index(collection: Collection, path: Path) -> tuple[Changes, list[Rejection]]:
    rejected: list[Rejection] = []
    changes = collection.index(read_threads([str(path)]), rejected=rejected.append)
    return changes, rejected


def _texts(collection: Collection) -> dict[str, list[str]]:
    return {one.key: [part.text for part in one.parts] for one in collection.documents()}


def _check(collection: Collection, path: Path, before: dict[str, list[str]], what: object) -> None:
    """Index a damaged file twice: no thread gets fewer posts, and what is not read is rejected."""
    for _ in range(2):
        changes, rejected = _index(collection, path)
        after = _texts(collection)
        assert after.keys() >= before.keys(), what
        assert all(len(after[key]) >= len(texts) for key, texts in before.items()), what
        assert not changes.kept or rejected, what


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_dump_takes_no_post_from_a_stored_thread(
    make_collection: MakeCollection, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    data = DUMPS[name.removesuffix(".gz")]().encode()
    whole = gzip.compress(data) if name.endswith(".gz") else data
    path.write_bytes(whole)
    collection = make_collection()
    _index(collection, path)
    before = _texts(collection)
    assert {len(texts) for texts in before.values()} == {3}
    path.write_bytes(whole[: len(whole) * 6 // 10])
    _check(collection, path, before, name)
    changes, rejected = _index(collection, path)
    assert changes.unread == 1
    assert changes.updated == 0
    assert rejected[-1].ends


def test_a_broken_row_takes_no_post_from_its_thread_and_others_change(
    make_collection: MakeCollection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, collection = tmp_path / "Posts.xml", make_collection()
    path.write_text(_posts())
    _index(collection, path)
    path.write_text(_posts().replace("cat 1 7", "cat <b> 7").replace("bee 9", "bee 99").replace("cat 2 9", " "))
    changes, (rejected,) = _index(collection, path)
    assert (changes.kept, changes.updated, changes.unread) == (1, 1, 0)
    assert rejected.key == "7"
    assert _texts(collection)["7"] == ["bee 7", "cat 1 7", "cat 2 7"]
    assert _texts(collection)["9"] == ["bee 99", "cat 1 9"]
    assert "1 thread stays as stored, since a rejected record may hold posts of it" in caplog.text


def test_a_thread_with_more_posts_than_stored_is_taken_from_a_damaged_file(
    make_collection: MakeCollection, tmp_path: Path
) -> None:
    path, collection = tmp_path / "Posts.xml", make_collection()
    path.write_text(_posts().replace('Id="105" PostTypeId="2"', 'Id="105" PostTypeId="5"'))
    _index(collection, path)
    assert len(_texts(collection)["5"]) == 2
    path.write_text(_posts().replace("</posts>", ""))
    changes, _ = _index(collection, path)
    assert (changes.updated, changes.unread, len(_texts(collection)["5"])) == (1, 1, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_random_damage_takes_no_post(make_collection: MakeCollection, tmp_path: Path, name: str) -> None:
    path, collection, rng = tmp_path / name, make_collection(), Random(3)  # noqa: S311 - places, no secret
    data = DUMPS[name.removesuffix(".gz")]().encode()
    whole = gzip.compress(data) if name.endswith(".gz") else data
    path.write_bytes(whole)
    _index(collection, path)
    before = _texts(collection)
    for cut in rng.sample(range(len(whole)), 20):
        path.write_bytes(whole[:cut])
        _check(collection, path, before, cut)
    for place in rng.sample(range(len(whole)), 50):
        changed = bytearray(whole)
        changed[place] ^= rng.randrange(1, 256)
        path.write_bytes(changed)
        if name.endswith(".gz"):
            _check(collection, path, before, place)
        else:
            _index(collection, path)  # another letter is no damage that a reader can know
            path.write_bytes(whole)
            _index(collection, path)
            assert before.items() <= _texts(collection).items(), place
