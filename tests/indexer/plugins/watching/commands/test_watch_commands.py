"""The commands `watch ...` as users call them."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from moverank import Collection
from tests.indexer.commands.program import Call
from tests.waiting import HUNG

pytestmark = pytest.mark.store


@pytest.fixture
def forum(call: Call, vectors: Path, tmp_path: Path) -> Path:
    path = tmp_path / "forum"
    assert call("index", _records(tmp_path, {"a": "dog cat"}), "-i", path, "--embedding", vectors).code == 0
    return path


def _records(directory: Path, texts: dict[str, str], label: str = "pets") -> Path:
    file = directory / f"{'-'.join(texts)}.jsonl"
    lines = (json.dumps({"id": key, "text": text, "label": label}) for key, text in texts.items())
    file.write_text("\n".join(lines) + "\n")
    return file


def test_watches_are_added_listed_and_removed(call: Call, forum: Path, tmp_path: Path) -> None:
    made = call("watch", "add", "dogs", "dog cat", "--within", "0.5", "-i", forum, "--rank", "wmd")
    assert (made.code, made.out) == (0, "dogs: within 0.5 by wmd:weights=tf: dog cat\n")
    thread = tmp_path / "thread.jsonl"
    thread.write_text(json.dumps({"title": "Wine", "body": "red wine", "comments": [{"text": "cheese"}]}) + "\n")
    added = ("watch", "add", "wines", "--thread", thread, "--within", "1", "-i", forum, "--where", "label=pets")
    assert call(*added, "--rank", "pwmd:gamma=0.5", "--json").json == {
        "name": "wines",
        "query": {
            "title": "Wine",
            "parts": [{"text": "red wine", "rank": 0}, {"text": "cheese", "rank": 1}],
        },
        "ranking": "pwmd:gamma=0.5,weights=tf",
        "within": 1.0,
        "where": ["label=pets"],
        "revision": 1,
    }
    listed = call("watch", "list", "-i", forum)
    assert [line.partition(":")[0] for line in listed.out.splitlines()] == ["dogs", "wines"]
    assert listed.out.endswith("where label=pets: Wine red wine cheese\n")
    assert [each["name"] for each in call("watch", "list", "-i", forum, "--json").json["watches"]] == ["dogs", "wines"]
    assert call("watch", "remove", "dogs", "-i", forum).out == "removed the watch dogs\n"
    assert call("watch", "remove", "wines", "-i", forum, "--json").json == {"removed": "wines"}
    assert call("watch", "list", "-i", forum).out == ""


def test_index_reports_events_which_are_printed_in_their_order(call: Call, forum: Path, tmp_path: Path) -> None:
    assert call("watch", "add", "dogs", "dog cat", "--within", "0", "-i", forum, "--rank", "wmd").code == 0
    changes = call("index", _records(tmp_path, {"b": "cat dog", "c": "river", "d": "dog cat"}), "-i", forum)
    assert "; 2 events of watches (" in changes.out
    assert call("index", _records(tmp_path, {"e": "dog cat"}), "-i", forum, "--json").json["events"] == 1
    found = call("watch", "events", "-i", forum)
    assert found.out == "1\tdogs\t0.0000\tb\t2\n2\tdogs\t0.0000\td\t2\n3\tdogs\t0.0000\te\t3\n"
    assert call("watch", "events", "-i", forum, "--after", "2", "--json").json == {
        "number": 3,
        "watch": "dogs",
        "document": "e",
        "distance": 0.0,
        "revision": 3,
    }


def test_old_events_are_forgotten(call: Call, forum: Path, tmp_path: Path) -> None:
    assert call("watch", "add", "dogs", "dog cat", "--within", "0", "-i", forum, "--rank", "wmd").code == 0
    assert call("index", _records(tmp_path, {"b": "cat dog", "c": "dog cat"}), "-i", forum).code == 0
    assert call("watch", "forget", "--before", "2", "-i", forum).out == "deleted 1 event\n"
    assert call("watch", "events", "-i", forum, "--json").json["number"] == 2
    assert call("watch", "forget", "--before", "99", "-i", forum, "--json").json == {"forgotten": 1}
    assert call("watch", "events", "-i", forum).out == ""


@pytest.mark.slow
def test_followed_events_end_at_an_interruption_without_a_failure(call: Call, forum: Path, tmp_path: Path) -> None:
    assert call("watch", "add", "dogs", "dog cat", "--within", "0", "-i", forum, "--rank", "wmd").code == 0
    command = [sys.executable, "-m", "moverank", "watch", "events", "--follow", "--json", "-i", str(forum)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for key in ("b", "c"):
            assert call("index", _records(tmp_path, {key: "cat dog"}), "-i", forum).code == 0
            assert process.stdout
            assert json.loads(process.stdout.readline())["document"] == key
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=HUNG)
    assert (process.returncode, errors) == (0, "")


def test_bad_arguments_are_one_sentence(call: Call, forum: Path) -> None:
    for arguments, code, sentence in (
        (("add", "w", "--within", "1"), 2, "give one of these: a query, --file FILE, or --thread FILE"),
        (("add", "w", "dog", "--within", "-1"), 2, "the largest distance must be a number of 0 or more, not -1.0"),
        (("add", "w", "dog", "--within", "1", "--rank", "bm25"), 2, "a watch compares by a distance alone"),
        (("add", "w", "the", "--within", "1"), 1, "the query 'the' has no word that the collection has a vector for"),
        (("add", "w", "dog", "--within", "inf"), 2, "the largest distance must be a number of 0 or more, not inf"),
        (("add", "w", "dog", "--within", "nan"), 2, "the largest distance must be a number of 0 or more, not nan"),
        (("remove", "w"), 1, "there is no watch 'w'"),
        (("remove", "\ud800"), 2, "the name of a watch: holds \\ud800, half of a surrogate pair"),
        (("events", "--after", str(2**63)), 2, "after must be a whole number of at most 9,223,372,036,854,775,807"),
        (("forget", "--before", str(2**63)), 2, "before must be a whole number of at most 9,223,372,036,854,775,807"),
    ):
        answer = call("watch", *arguments, "-i", forum)
        assert (answer.code, answer.out) == (code, "")
        assert answer.sentence.startswith(sentence)
    assert "missing option '--within'" in call("watch", "add", "w", "dog", "-i", forum).err


@pytest.mark.plugin("shards")
def test_shards_have_no_watches(call: Call, tmp_path: Path) -> None:
    cluster = tmp_path / "cluster.toml"
    cluster.write_text("")
    assert call("watch", "list", "-i", cluster).sentence.startswith("shards have no watches of their own")


@pytest.mark.sqlite("the permissions are those of a file")
def test_a_collection_that_may_only_be_read_is_listed(call: Call, forum: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Collection.open(forum) as collection:
        collection.watch("dogs", "dog cat", 0.5)
    monkeypatch.setattr("moverank.indexer.store.engines.is_writable", lambda _: False)
    assert call("watch", "list", "-i", forum).out.startswith("dogs: within 0.5")
    assert call("watch", "events", "-i", forum).out == ""
    assert call("watch", "remove", "dogs", "-i", forum).code == 1


def test_a_share_becomes_the_distance_of_so_many_documents_and_can_be_tried(
    call: Call, forum: Path, tmp_path: Path
) -> None:
    more = {"b": "dog wine", "c": "wine bread", "d": "river"}
    assert call("index", _records(tmp_path, more), "-i", forum).code == 0
    hits = call("search", "dog cat", "-i", forum, "--rank", "wmd", "--exact", "--json").json["hits"]
    tried = call("watch", "add", "w", "dog cat", "--within", "50%", "--rank", "wmd", "-i", forum, "--dry-run")
    lines = [f"{hit['distance']:.4f}\t{hit['key']}\t{hit['snippet']}" for hit in hits[:2]]
    last = f"2 of the stored documents are within {hits[1]['distance']:g}; no watch was added"
    assert tried.out.splitlines() == [*lines, last]
    assert call("watch", "list", "-i", forum).out == ""
    made = call("watch", "add", "w", "dog cat", "--within", "50%", "--rank", "wmd", "-i", forum, "--json").json
    assert made["within"] == hits[1]["distance"]
    assert call("index", _records(tmp_path, {"e": "dog wine"}), "-i", forum, "--json").json["events"] == 1
    assert call("watch", "add", "w", "dog", "--within", "150%", "-i", forum).code == 2
