"""`search --proof`, `similar --proof`, `verify`, `info --digest` and `check --searches`."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from moverank import verify
from tests.indexer.commands.program import Call
from tests.indexer.world import vectors_in

_EXACT = ("--rank", "wmd", "--exact")
_KEYS = ["verified", "digest", "documents", "k", "hits", "query", "gamma", "weights", "tolerance", "without"]
_KEYS += ["uncovered", "revision", "without_bag"]


def test_a_search_is_proven_and_verified(call: Call, collection: Path, tmp_path: Path) -> None:
    file = tmp_path / "cats.proof"
    plain = call("search", "cat dog", "-i", collection, "-k", "3", *_EXACT, "--json").json
    answer = call("search", "cat dog", "-i", collection, "-k", "3", *_EXACT, "--proof", file, "--json")
    assert (answer.code, answer.sentence) == (0, f"the proof is in {file}: `moverank verify {file}`")
    assert answer.json["hits"] == plain["hits"]
    shown = call("verify", file)
    assert (shown.code, shown.out, shown.err) == (0, f"{verify(file)}\n", "")
    assert shown.out.startswith("Verified: of the 10 documents of the collection with the digest ")
    found = call("verify", file, "--json", "-k", "3").json
    assert list(found) == _KEYS
    assert [hit["key"] for hit in found["hits"]] == [hit["key"] for hit in plain["hits"]]
    assert [word["word"] for word in found["query"]] == ["cat", "dog"]
    digest = call("info", "-i", collection, "--digest", "wmd").out.strip()
    assert call("info", "-i", collection, "--digest", "wmd", "--json").json == {"digest": digest, "ranking": "wmd"}
    assert call("verify", file, "--digest", digest.upper()).code == 0
    other = call("info", "-i", collection, "--digest", "wmd:weights=tfidf").out.strip()
    rejected = call("verify", file, "--digest", other)
    assert (rejected.code, rejected.out) == (1, "")
    assert rejected.sentence == f"{file}: it is about the 3 nearest of the documents with the digest {digest}"
    answer = call("verify", file, "-k", "4", "--json")
    assert (answer.code, answer.err, list(answer.json)) == (1, "", ["verified", "reason"])


@pytest.mark.parametrize("output", [(), ("--json",), ("--format", "csv")])
def test_similar_documents_are_proven(call: Call, collection: Path, tmp_path: Path, output: tuple[str, ...]) -> None:
    file = tmp_path / "d3.proof"
    plain = call("similar", "d3", "-i", collection, "-k", "2", *_EXACT, *output)
    answer = call("similar", "d3", "-i", collection, "-k", "2", *_EXACT, *output, "--proof", file)
    assert answer.code == 0
    assert [line.partition('"seconds"')[0] for line in answer.out.splitlines() if " s." not in line] == [
        line.partition('"seconds"')[0] for line in plain.out.splitlines() if " s." not in line
    ]
    verified = verify(file)
    assert (verified.without, verified.documents, len(verified.hits)) == ("d3", 10, 2)


def test_a_proof_replaces_a_file(call: Call, collection: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.proof"
    file.write_text("something else")
    file.chmod(0o640)
    assert call("search", "cat", "-i", collection, *_EXACT, "--proof", file).code == 0
    assert verify(file).query == (("cat", 1.0),)
    assert file.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.glob(".a.proof*")) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", "cat", "--rank", "bm25"), "only wmd or pwmd alone is proven, not bm25: take --rank wmd --exact"),
        (("search", "cat", *_EXACT, "--where", "year>2"), "a proof covers the whole collection: leave out --where"),
        (("search", "cat", "--rank", "wmd", "--depth", "10"), "leave out --depth without --exact, and take --exact"),
        (("search", "--queries", "q.txt", *_EXACT), "--proof is of one query: search for each of several by itself"),
        (("similar", "d1", "d2", *_EXACT), "--proof is of one query"),
        (("search", "cat", *_EXACT, "--server", "http://localhost:1"), "--proof is not written by a server"),
    ],
)
def test_other_searches_are_refused(
    call: Call, collection: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "q.txt").write_text("cat\ndog\n")
    given = [str(tmp_path / one) if one == "q.txt" else one for one in arguments]
    answer = call(*given, "-i", collection, "--proof", tmp_path / "a.proof")
    assert answer.code == 2
    assert message in answer.sentence
    assert not (tmp_path / "a.proof").exists()


def test_a_place_that_cannot_be_written_is_refused_first(call: Call, collection: Path, tmp_path: Path) -> None:
    answer = call("search", "cat", "-i", collection, *_EXACT, "--proof", tmp_path / "no" / "a.proof")
    assert answer.code == 2
    assert "there is no directory" in answer.sentence


def test_what_is_no_proof_is_rejected_in_a_sentence(call: Call, collection: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("moverank-proof 1 " + "0" * 64 + "\n{}\n")
    for name, code, message in (
        ("none", 1, "No such file or directory"),
        ("", 1, "it is not a regular file"),
        ("text", 1, "its bytes do not have the SHA-256 of the first line"),
        ("documents.jsonl", 1, "No such file"),
    ):
        answer = call("verify", tmp_path / name)
        assert (answer.code, answer.out) == (code, "")
        assert message in answer.sentence
    answer = call("verify", tmp_path / "text", "--digest", "abc")
    assert answer.code == 2
    assert answer.sentence == "a digest is 64 hexadecimal digits, as `info --digest` prints it"
    answer = call("info", "-i", collection, "--digest", "wmd+bm25")
    assert (answer.code, answer.out) == (2, "")
    assert call("info", "-i", collection, "--digest", "wmd", "--source").code == 2


def test_keys_with_control_characters_are_printed_escaped(call: Call, empty: Path, tmp_path: Path) -> None:
    (tmp_path / "odd.jsonl").write_text('{"id": "a\\u001b[31m\\nb", "text": "cat"}\n')
    assert call("index", tmp_path / "odd.jsonl", "-i", empty).code == 0
    assert call("search", "cat", "-i", empty, *_EXACT, "--proof", tmp_path / "a.proof").code == 0
    out = call("verify", tmp_path / "a.proof").out
    assert "\x1b" not in out
    assert r"'a\x1b[31m\nb'" in out


def test_check_proves_searches(call: Call, collection: Path) -> None:
    answer = call("check", "-i", collection, "--searches", "3", "--json")
    assert (answer.code, answer.json) == (0, {"ok": True, "problems": []})
    assert call("check", "-i", collection, "--searches", "2").out == "nothing is wrong\n"


def test_check_says_that_searches_are_not_proven(call: Call, collection: Path) -> None:
    file = vectors_in(collection) / "vectors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    answer = call("check", "-i", collection, "--searches", "2", "--json")
    assert answer.code == 1
    assert "vectors is damaged" in answer.json["problems"][0]
    assert answer.json["problems"][-1].startswith("no search was proven")
    assert call("check", "-i", collection, "--searches", "2", "--repair").out == "nothing is wrong\n"


@pytest.mark.slow
def test_an_interrupted_proof_leaves_no_file(collection: Path, tmp_path: Path) -> None:
    file = tmp_path / "proofs" / "a.proof"
    file.parent.mkdir()
    slow = (
        "import time, moverank.indexer.plugins.proofs.prover as prover\n"
        "from moverank import cli\n"
        "def slowly():\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(60)\n"
        "prover.collected = lambda *_: slowly()\n"
        "cli.run()\n"
    )
    arguments = ["search", "cat", "-i", str(collection), *_EXACT, "--proof", str(file)]
    command = [sys.executable, "-c", slow, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate()
    assert process.returncode == 1
    assert err.splitlines()[-1] == b"moverank: interrupted: there is no proof"
    assert list(file.parent.iterdir()) == []
