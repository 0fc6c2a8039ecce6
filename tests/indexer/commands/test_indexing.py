"""`index` and `threads`: changes, settings and sources."""

import gzip
from pathlib import Path

import pytest

from tests.indexer.commands.program import CHANGES, GOOD, Call


def test_index_reports_its_changes(call: Call, documents: Path, vectors: Path, tmp_path: Path) -> None:
    path = tmp_path / "new"
    first = call("index", documents, "-i", path, "--embedding", vectors, "--json")
    assert list(first.json) == CHANGES
    assert (first.code, first.err) == (0, "")
    assert first.json["added"] == 10
    again = call("index", documents, "-i", path, "--json")
    figures = {"coverage": 0.8, "trained_seconds": None}
    assert again.json == dict.fromkeys(CHANGES, 0) | {"unchanged": 10, "revision": first.json["revision"]} | figures


def test_the_text_output_of_index_is_one_line(call: Call, documents: Path, collection: Path) -> None:
    answer = call("index", documents, "-i", collection)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("10 unchanged (")
    assert answer.out.count("\n") == 1


def test_prune_removes_documents_missing_from_the_sources(call: Call, documents: Path, collection: Path) -> None:
    call("index", documents, "-i", collection)
    documents.write_text("".join(documents.read_text().splitlines(keepends=True)[:4]))
    answer = call("index", documents, "-i", collection, "--prune", "--yes", "--json")
    assert (answer.json["removed"], answer.json["unchanged"]) == (6, 4)


def test_threads_have_the_gamma_of_the_paper(call: Call, vectors: Path, tmp_path: Path) -> None:
    file = tmp_path / "threads.jsonl"
    file.write_text('{"id": "t", "title": "cat", "comments": [{"text": "dog", "rank": 1}]}\n')
    answer = call("threads", file, "-i", tmp_path / "forum", "--embedding", vectors, "--json")
    assert list(answer.json) == CHANGES
    assert answer.json["added"] == 1
    assert call("info", "-i", tmp_path / "forum", "--json").json["gamma"] == 0.75


def test_the_title_weight_of_a_collection_can_change(call: Call, documents: Path, collection: Path) -> None:
    def distance() -> float:
        hits = call("search", "dog", "-i", collection, "--json").json["hits"]
        return float(next(hit["distance"] for hit in hits if hit["title"] == "Dog story"))

    before = distance()
    answer = call("index", documents, "-i", collection, "--setting", "title_weight=9", "--json")
    assert (answer.code, answer.json["unchanged"]) == (0, 10)
    assert call("info", "-i", collection, "--json").json["title_weight"] == 9
    assert distance() < before


def test_near_duplicates_are_left_out(call: Call, vectors: Path, tmp_path: Path) -> None:
    file, path = tmp_path / "docs.jsonl", tmp_path / "new"
    texts = {"a": "dog cat", "b": "cat dog", "c": "wine", "d": "cat dog"}
    file.write_text("".join(f'{{"id": "{key}", "text": "{text}"}}\n' for key, text in texts.items()))
    first = call("index", file, "-i", path, "--embedding", vectors, "--dedupe", "0.01", "--json")
    assert list(first.json) == CHANGES
    assert (first.code, first.json["added"], first.json["duplicates"]) == (0, 2, 2)
    again = call("index", file, "-i", path, "--dedupe", "0.01")
    assert again.out.startswith("2 unchanged, 2 near-duplicates left out (")
    assert call("info", "-i", path, "--json").json["documents"] == 2
    thread = '{"id": "%s", "title": "cat", "comments": [{"text": "dog", "rank": 1}]}\n'
    file.write_text("".join(thread % key for key in "xyz"))
    threads = call("threads", file, "-i", tmp_path / "forum", "--embedding", vectors, "--dedupe", "0.01", "--json")
    assert (threads.code, threads.json["added"], threads.json["duplicates"]) == (0, 1, 2)
    assert call("check", "-i", path).code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-1"], "the largest distance of near duplicates must be"),
        (["nan"], "the largest distance of near duplicates must be"),
        (["inf"], "the largest distance of near duplicates must be"),
        (["0.3", "--dry-run"], "a dry run stores no documents to compare"),
    ],
)
def test_unusable_choices_of_near_duplicates_are_refused(
    call: Call, documents: Path, tmp_path: Path, options: list[str], message: str
) -> None:
    answer = call("index", documents, "-i", tmp_path / "new", "--dedupe", *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert not (tmp_path / "new").exists()


def test_documents_from_standard_input(call: Call, vectors: Path, tmp_path: Path) -> None:
    options = ("index", "-", "-i", tmp_path / "new", "--embedding", vectors, "--json")
    assert call(*options, stdin=b"cat dog\ntrain bus\n").json["added"] == 2
    assert call(*options, stdin=gzip.compress(GOOD.encode())).json["added"] == 1


def test_the_default_collection_is_moverank_index(
    call: Call, documents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = call("index", documents, "--json")
    assert answer.json["added"] == 10
    assert "10 texts are too few to learn word vectors from: they are ranked by bm25" in answer.sentence
    assert (tmp_path / "moverank.index").is_dir()


def test_a_strict_run_stops_and_writes_nothing(call: Call, collection: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text(GOOD + "{\n")
    answer = call("index", tmp_path / "bad.jsonl", "-i", collection, "--strict", "--json")
    assert (answer.code, answer.out) == (1, "")
    assert "bad.jsonl:2: broken JSON" in answer.sentence
    assert answer.sentence.endswith("nothing was written: the run is strict")
    assert call("info", "-i", collection, "--json").json["documents"] == 10


def test_a_source_without_records_is_reported(call: Call, collection: Path) -> None:
    answer = call("index", "-", "-i", collection)
    assert answer.code == 0
    assert answer.out.startswith("no document found (")


BAD_VECTORS: list[tuple[str, bytes, str]] = [
    ("empty.txt", b"", "empty.txt is empty: it holds no word vectors"),
    ("prose.txt", b"hello dear world\n", "prose.txt is no file of word vectors"),
    ("nan.txt", b"2 2\ncat 1 2\ndog nan 1\n", "nan.txt, line 3 ('dog'): a number is not finite"),
    ("ragged.txt", b"2 2\ncat 1 2\ndog 1\n", "ragged.txt, line 3 has 1 numbers, not 2"),
    ("twice.txt", b"2 2\ncat 1 2\ncat 3 4\n", "twice.txt has the word 'cat' twice, in line 2 and line 3"),
    ("short.txt", b"3 2\ncat 1 2\ndog 3 4\n", "short.txt ends after 2 words, but its header promises 3"),
    ("cut.bin", b"2 4\ncat 0123", "cut.bin, line 1 promises 2 words of 4 numbers, at least 36 bytes"),
    ("model.kv", b"\x80\x04.", "model.kv is a pickle, as gensim writes, and can run any code: give --trust-pickle"),
    ("vectors.zip", b"PK\x03\x04", "vectors.zip is a zip archive: unpack it"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_VECTORS, ids=[name for name, _, _ in BAD_VECTORS])
def test_bad_vectors_leave_nothing_behind(
    call: Call, documents: Path, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    answer = call("index", documents, "-i", tmp_path / "new", "--embedding", tmp_path / name, "--json")
    assert (answer.code, answer.out) == (1, "")
    assert message in answer.sentence
    assert not (tmp_path / "new").exists()


def test_an_invalid_factory_string_is_refused_before_anything_is_created(
    call: Call, documents: Path, vectors: Path, tmp_path: Path
) -> None:
    answer = call("index", documents, "-i", tmp_path / "new", "--embedding", vectors, "--setting", "faiss=Nope")
    assert (answer.code, answer.out) == (2, "")
    assert "'Nope'" in answer.sentence
    assert not (tmp_path / "new").exists()


def test_an_option_that_is_given_twice_is_refused(call: Call, tmp_path: Path, vectors: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text('{"id": "a", "text": "dog"}')
    answer = call("index", file, "-i", tmp_path / "x", "--embedding", vectors, "--key-field", "id", "--key-field=key")
    assert (answer.code, answer.sentence) == (2, "--key-field is given 2 times: give it once")
    assert not (tmp_path / "x").exists()


def test_several_text_fields_are_parts_of_a_document(call: Call, tmp_path: Path, vectors: Path) -> None:
    file = tmp_path / "two.jsonl"
    file.write_text('{"id": "a", "question": "dog", "answer": "cat", "body": "not read"}')
    fields = ("--text-field", "question", "--text-field", "answer")
    assert call("index", file, "-i", tmp_path / "x", "--embedding", vectors, *fields).code == 0
    (shown,) = call("export", "-i", tmp_path / "x").lines
    assert [part["text"] for part in shown["parts"]] == ["dog", "cat"]
    threads = call("threads", file, "-i", tmp_path / "y", "--embedding", vectors, *fields)
    assert (threads.code, threads.sentence) == (2, "the posts of threads have one text each: give --text-field once")
