"""Collections with the vectors of a static embedding model: a word that is no token is composed of its pieces."""

import json
from pathlib import Path

import numpy as np
import ot
import pytest
from scipy.spatial.distance import cdist

from moverank import Collection, Reranker, SearchOptions
from tests.indexer.commands.program import Call
from tests.indexer.vectors.static_models import TOKENS, token_vectors, write_model

pytest.importorskip("tokenizers", reason="needs the extra static")

TEXTS = {"heat": "mains plugs gets hotly", "pet": "the cats sleeps", "none": "zebra", "again": "unplug hot plug"}
PIECES = {
    "plugs": ["plug", "##s"],
    "hotly": ["hot", "##ly"],
    "cats": ["cat", "##s"],
    "unplug": ["un", "##plug"],
    "warmed": ["warm", "##ed"],
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model", "model2vec")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    file = tmp_path / "docs.jsonl"
    file.write_text("".join(f"{json.dumps({'id': key, 'text': text})}\n" for key, text in TEXTS.items()))
    return file


def _distance(query: str, text: str) -> float:
    """Return the distance of two texts by POT; a word's vector is the mean of its pieces', of length 1."""
    rows = token_vectors().astype(np.float64)
    bags = [
        np.array([rows[[TOKENS.index(one) for one in PIECES.get(word, [word])]].mean(axis=0) for word in words.split()])
        for words in (query, text)
    ]
    bags = [bag / np.linalg.norm(bag, axis=1, keepdims=True) for bag in bags]
    masses = [np.full(len(bag), 1 / len(bag)) for bag in bags]
    return float(ot.emd2(*masses, cdist(bags[0], bags[1])))


def test_index_and_search(call: Call, docs: Path, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "c"
    options = ("--embedding", model, "--setting", "stop_words=none")
    answer = call("index", docs, "-i", path, *options, "--json")
    assert (answer.json["added"], answer.json["wordless"]) == (4, 1)
    assert answer.json["coverage"] == pytest.approx(10 / 11)
    assert call("index", docs, "-i", path, *options, "--json").json["unchanged"] == 4
    query = "the plug gets warmed"
    answer = call("search", query, "-i", path, "--rank", "wmd", "--exact", "--json")
    expected = {key: _distance(query, text) for key, text in TEXTS.items() if key != "none"}
    assert answer.json["certified"]
    found = {hit["key"]: hit["distance"] for hit in answer.json["hits"]}
    assert list(found) == sorted(expected, key=expected.__getitem__)
    assert found == pytest.approx(expected, rel=1e-6)
    assert call("check", "-i", path).code == 0


def test_vectors_are_replaced_and_repaired(call: Call, docs: Path, model: Path, vectors: Path, tmp_path: Path) -> None:
    path = tmp_path / "c"
    assert call("index", docs, "-i", path, "--embedding", vectors, "--setting", "stop_words=none").code == 0
    assert call("refit", "-i", path, "--embedding", model).code == 0
    info = call("info", "-i", path, "--json").json
    assert (info["embedding"], info["coverage"]) == (str(model), pytest.approx(10 / 11))
    query = "plug gets warmed"
    with Collection.open(path) as collection:
        options = SearchOptions(k=3, exact=True, rank="wmd")
        before = collection.search(query, options)
        reranked = Reranker.load(model, stop_words="none", rank="wmd").rank(query, TEXTS)
        assert [hit.key for hit in reranked.hits[:3]] == [hit.key for hit in before.hits]
        assert [hit.distance for hit in reranked.hits[:3]] == pytest.approx([hit.distance for hit in before.hits])


@pytest.mark.sqlite("the files of its vectors are damaged")
def test_a_damaged_tokenizer_is_imported_again(call: Call, docs: Path, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "c"
    assert call("index", docs, "-i", path, "--embedding", model).code == 0
    file = path / "vectors" / "tokenizer.json"
    file.write_bytes(file.read_bytes().replace(b"##ly", b"##ed"))
    answer = call("search", "plug", "-i", path)
    assert answer.code == 1
    assert "tokenizer.json does not match its checksum; `moverank check --repair` restores" in answer.sentence
    assert call("check", "-i", path, "--repair").code == 0
    assert call("search", "plug", "-i", path).code == 0


def test_a_directory_without_a_model_is_refused(call: Call, docs: Path, tmp_path: Path) -> None:
    answer = call("index", docs, "-i", tmp_path / "c", "--embedding", tmp_path)
    assert answer.code == 1
    assert "is a directory without a static embedding model: that has the files model.safetensors" in answer.sentence
    assert not (tmp_path / "c").exists()
