"""`remove`, `refit`, `info`, `check` and `backup`, and how writers wait for each other."""

from pathlib import Path

import pytest
from filelock import FileLock

from tests.indexer.commands.program import CHANGES, GOOD, Call
from tests.indexer.world import vectors_in

pytestmark = pytest.mark.store


def test_remove_has_the_json_keys_of_index(call: Call, collection: Path) -> None:
    answer = call("remove", "d1", "d2", "d1", "-i", collection, "--json")
    assert list(answer.json) == CHANGES
    assert (answer.code, answer.err, answer.json["removed"]) == (0, "", 2)
    assert call("info", "-i", collection, "--json").json["documents"] == 8


def test_info_has_sizes_settings_and_revision(call: Call, collection: Path, vectors: Path) -> None:
    result = call("info", "-i", collection, "--json").json
    assert {"documents", "words", "dim", "revision", "embedding", "weights", "gamma", "faiss"} <= set(result)
    assert (result["documents"], result["dim"], result["embedding"]) == (10, 4, str(vectors))
    rows = call("info", "-i", collection).out.splitlines()
    assert rows[0].split() == ["documents", "10"]


def test_the_environment_names_the_collection(
    call: Call, collection: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MOVERANK_INDEX", str(collection))
    assert call("info", "--json").json["documents"] == 10
    assert "nowhere" in call("info", "-i", tmp_path / "nowhere").sentence


def test_only_one_process_writes(call: Call, collection: Path, documents: Path) -> None:
    with FileLock(collection / "lock"):
        documents.write_text(GOOD)
        answer = call("index", documents, "-i", collection)
        assert call("search", "cat", "-i", collection, "--json").code == 0
    assert answer.code == 1
    assert "another process is writing to" in answer.sentence


def test_waiting_for_another_process_is_reported(call: Call, collection: Path) -> None:
    with FileLock(collection / "lock"):
        answer = call("remove", "mat", "-i", collection, "--wait", "0.1")
    assert answer.code == 1
    assert answer.err.startswith("moverank: waiting for another process\nmoverank: another process is writing to")
    assert call("refit", "-i", collection, "--wait").code == 0


def test_check_and_backup(call: Call, collection: Path, tmp_path: Path) -> None:
    answer = call("check", "-i", collection, "--json")
    assert (answer.code, answer.json) == (0, {"ok": True, "problems": []})
    assert call("check", "-i", collection, "--repair").out == "nothing is wrong\n"
    answer = call("backup", tmp_path / "copy", "-i", collection, "--json")
    assert (answer.code, answer.json) == (0, {"directory": str(tmp_path / "copy"), "revision": 1})
    assert call("backup", tmp_path / "other", "-i", collection).out == f"revision 1 is in {tmp_path / 'other'}\n"
    vectors = vectors_in(tmp_path / "copy") / "vectors"
    vectors.write_bytes(vectors.read_bytes()[:-1] + b"x")
    answer = call("check", "-i", tmp_path / "copy", "--json")
    assert answer.code == 1
    assert answer.json["ok"] is False
    assert "vectors is damaged" in answer.json["problems"][0]
    answer = call("check", "-i", tmp_path / "copy")
    assert (answer.code, answer.out.count("\n")) == (1, 1)
    assert call("check", "--repair", "-i", tmp_path / "copy").out == "nothing is wrong\n"
