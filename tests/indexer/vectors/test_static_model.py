import importlib
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.errors import VectorsError
from moverank.indexer.vectors.importing import import_vectors, same_source
from moverank.indexer.vectors.open_vectors import open_vectors, verify_vectors
from moverank.rerank.words.embedding import COMPOSED, Embedding
from moverank.rerank.words.vocabulary import UNKNOWN
from tests.indexer.vectors.static_models import (
    KINDS,
    TOKENS,
    UNKNOWN_TOKEN,
    token_vectors,
    word_pieces,
    write_files,
    write_model,
)

pytest.importorskip("tokenizers", reason="needs the extra static")
safetensors = pytest.importorskip("safetensors.numpy", reason="needs the extra static")

WHOLE = ["the", "mains", "plug", "gets", "hot", "warm", "socket", "cat", "sleeps", "un", "re", "a", "b"]
PIECES = {
    "plugs": ["plug", "##s"],
    "unplugged": None,
    "unplug": ["un", "##plug"],
    "replugs": ["re", "##plug", "##s"],
    "hotly": ["hot", "##ly"],
    "abba": ["a", "##b", "##b", "##a"],
}
COMPOSED_WORDS = [word for word, pieces in PIECES.items() if pieces]
SPLITS = ("wordpiece", "wordlevel", "bpe", "byte bpe", "unigram")


def _imported(source: Path, out: Path, **options: Any) -> Embedding:
    return import_vectors(str(source), out, **options)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_word_has_the_mean_of_its_pieces(kind: str, unit: bool, tmp_path: Path) -> None:
    embedding = _imported(write_model(tmp_path / "m", kind), tmp_path / "out", normalize=None if unit else False)
    assert embedding.unit == unit
    verify_vectors(tmp_path / "out")
    assert list(embedding.words) == WHOLE
    assert embedding.find(["plugs", "plug", "zebra", "", "\ud800"]).tolist() == [
        COMPOSED, WHOLE.index("plug"), UNKNOWN, UNKNOWN, UNKNOWN,
    ]  # fmt: skip
    rows = token_vectors().astype(float)
    count = np.arange(len(rows))
    if kind == "weights":
        rows = rows * np.linspace(0.1, 2.0, len(rows))[:, None]
    if kind == "mapping":
        rows = rows[count % 7] * np.linspace(2.0, 0.1, len(rows))[:, None]
    for word in [*WHOLE, *COMPOSED_WORDS]:
        expected = rows[[TOKENS.index(piece) for piece in PIECES.get(word) or [word]]].mean(axis=0)
        if unit:
            expected /= np.linalg.norm(expected)
        names, vectors = embedding.known([word])
        assert names == [word]
        np.testing.assert_allclose(vectors[0], expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("kind", KINDS[:3])
def test_vectors_equal_those_of_model2vec(kind: str, unit: bool, tmp_path: Path) -> None:
    model2vec = pytest.importorskip("model2vec", reason="model2vec, an oracle, is not installed")
    source = write_model(tmp_path / "m", kind)
    oracle = model2vec.StaticModel.from_pretrained(source)
    embedding = _imported(source, tmp_path / "out", normalize=None if unit else False)
    names, vectors = embedding.known([*WHOLE, *COMPOSED_WORDS])
    assert names == [*WHOLE, *COMPOSED_WORDS]
    np.testing.assert_allclose(vectors, oracle.encode(names, normalize=unit), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("split", SPLITS)
def test_models_that_model2vec_writes(split: str, tmp_path: Path) -> None:
    model2vec = pytest.importorskip("model2vec", reason="model2vec, an oracle, is not installed")
    tokenizer = _tokenizer(split)
    vectors = token_vectors(tokenizer.get_vocab_size(), 8)
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(tmp_path / "m")
    oracle = model2vec.StaticModel.from_pretrained(tmp_path / "m")
    embedding = _imported(tmp_path / "m", tmp_path / "out", normalize=False)
    words = ["plug", "plugs", "replugging", "kühl", "hot", "日本", "x☃y", "zebra", "12"]
    expected = oracle.encode(words)
    found, known = embedding.spread(words)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert known.tolist() == expected.any(axis=1).tolist()
    np.testing.assert_allclose(embedding.vectors, oracle.encode(list(embedding.words)), rtol=1e-5, atol=1e-6)
    assert "plug" in embedding.words


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", ["StaticEmbedding", "nested", "Normalize", "written"])
def test_vectors_equal_those_of_sentence_transformers(kind: str, tmp_path: Path) -> None:
    library: Any = pytest.importorskip("sentence_transformers", reason="sentence_transformers is not installed")
    source = tmp_path / "m"
    if kind == "written":
        modules = importlib.import_module("sentence_transformers.models")
        module = modules.StaticEmbedding(word_pieces(), embedding_weights=token_vectors())
        library.SentenceTransformer(modules=[module, modules.Normalize()], device="cpu").save_pretrained(str(source))
    else:
        write_model(source, kind)
        (source / "1_Normalize").mkdir()
    names, vectors = _imported(source, tmp_path / "out").known([*WHOLE, *COMPOSED_WORDS])
    model = library.SentenceTransformer(str(source), device="cpu")
    np.testing.assert_allclose(vectors, model.encode(names, normalize_embeddings=True), rtol=1e-5, atol=1e-7)
    if kind not in ("Normalize", "written"):
        vectors = _imported(source, tmp_path / "raw", normalize=False).known(names)[1]
        np.testing.assert_allclose(vectors, model.encode(names), rtol=1e-5, atol=1e-7)


def test_unknown_pieces_count_as_in_the_library_of_the_model(tmp_path: Path) -> None:
    # In an alphabet without ☃, "plug☃" is two pieces, the second of them unknown.
    rows = token_vectors().astype(float)
    for kind, pieces in (("model2vec", ["plug"]), ("StaticEmbedding", ["plug", "[UNK]"])):
        tokenizer = word_pieces()
        tokenizers = importlib.import_module("tokenizers")
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split("☃", "isolated")
        embedding = _imported(write_model(tmp_path / kind, kind, tokenizer), tmp_path / f"{kind}-out", normalize=False)
        expected = rows[[TOKENS.index(piece) for piece in pieces]].mean(axis=0)
        np.testing.assert_allclose(embedding.known(["plug☃"])[1], [expected], rtol=1e-5)
        assert embedding.find(["☃"]).tolist() == [UNKNOWN]


def _tokenizer(split: str) -> Any:
    """Return a tokenizer of this kind, trained on a few words."""
    tokenizers: Any = importlib.import_module("tokenizers")
    models, trainers, pre = tokenizers.models, tokenizers.trainers, tokenizers.pre_tokenizers
    special = {"special_tokens": ["[PAD]", "[UNK]"], "show_progress": False, "vocab_size": 60}
    model, trainer = {
        "wordpiece": (models.WordPiece(unk_token=UNKNOWN_TOKEN), trainers.WordPieceTrainer(**special)),
        "wordlevel": (models.WordLevel(unk_token=UNKNOWN_TOKEN), trainers.WordLevelTrainer(**special)),
        "bpe": (models.BPE(unk_token=UNKNOWN_TOKEN), trainers.BpeTrainer(**special)),
        "byte bpe": (
            models.BPE(),
            trainers.BpeTrainer(**{**special, "vocab_size": 320}, initial_alphabet=pre.ByteLevel.alphabet()),
        ),
        "unigram": (models.Unigram(), trainers.UnigramTrainer(**special, unk_token=UNKNOWN_TOKEN)),
    }[split]
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer, made.decoder = pre.Whitespace(), None
    if split == "byte bpe":
        made.pre_tokenizer, made.decoder = pre.ByteLevel(), tokenizers.decoders.ByteLevel()
    elif split == "unigram":
        made.pre_tokenizer, made.decoder = pre.Metaspace(), tokenizers.decoders.Metaspace()
    made.train_from_iterator(["plug hot plug hot plugs plugging replugs hot warm kühl"] * 20, trainer)
    return made


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8])
def test_numbers_of_other_types_become_float32(dtype: Any, tmp_path: Path) -> None:
    vectors = (10 * token_vectors()).astype(dtype)
    source = write_model(tmp_path / "m", "model2vec", vectors=vectors)
    embedding = _imported(source, tmp_path / "out", normalize=False)
    row = vectors[TOKENS.index("plug")].astype(np.float32)
    np.testing.assert_array_equal(embedding.known(["plug"])[1], [row])


def test_a_copy_needs_no_file(tmp_path: Path) -> None:
    embedding = _imported(write_model(tmp_path / "m", "model2vec"), tmp_path / "out")
    words = [*COMPOSED_WORDS, "plug"]
    expected = embedding.known(words)[1]
    copy = pickle.loads(pickle.dumps(embedding))  # noqa: S301 - our own
    assert copy.fingerprint == embedding.fingerprint
    np.testing.assert_array_equal(copy.known(words)[1], expected)


def test_the_fingerprint_covers_the_tokenizer(tmp_path: Path) -> None:
    one = write_model(tmp_path / "one", "model2vec")
    other = write_model(tmp_path / "other", "model2vec", word_pieces([*TOKENS[:-2], TOKENS[-1], TOKENS[-2]]))
    assert _imported(one, tmp_path / "a").fingerprint != _imported(other, tmp_path / "b").fingerprint
    assert _imported(one, tmp_path / "c").fingerprint == open_vectors(tmp_path / "a").fingerprint
    assert same_source(tmp_path / "a", str(one))
    assert not same_source(tmp_path / "a", str(other))
    moved = one.rename(tmp_path / "moved")
    assert same_source(tmp_path / "a", str(moved))


@pytest.mark.parametrize("name", ["tokenizer.json", "subwords", "subwords-sums"])
def test_damage_to_imported_pieces_is_found(name: str, tmp_path: Path) -> None:
    _imported(write_model(tmp_path / "m", "model2vec"), tmp_path / "out")
    path = tmp_path / "out" / name
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with pytest.raises(VectorsError, match="damaged"):
        verify_vectors(tmp_path / "out")
    path.unlink()
    with pytest.raises(VectorsError, match="is missing"):
        open_vectors(tmp_path / "out")


def _without(name: str) -> Any:
    return lambda folder: (folder / name).unlink()


def _with(name: str, content: bytes) -> Any:
    return lambda folder: (folder / name).write_bytes(content)


def _tensors(**tensors: Any) -> Any:
    return lambda folder: write_files(folder, tensors)


def _module(kind: str, path: str = "") -> Any:
    return _with("modules.json", json.dumps([{"path": path, "type": f"sentence_transformers.models.{kind}"}]).encode())


def _as_pickle(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


FAULTS = [
    (_without("model.safetensors"), "is a directory without a static embedding model: that has the files"),
    (_as_pickle, "in a pickle, pytorch_model.bin, which is never read: save the model with safe_serialization=True"),
    (_without("tokenizer.json"), "has no tokenizer.json: get the model again"),
    (_with("tokenizer.json", b"{"), "tokenizer.json cannot be used (the tokenizer cannot be read: "),
    (_with("tokenizer.json", b"\xff"), "tokenizer.json cannot be used ("),
    (_with("model.safetensors", b""), "model.safetensors is damaged or cut short ("),
    (_with("model.safetensors", b"\x80\x04." + bytes(200)), "model.safetensors is damaged or cut short ("),
    (_with("modules.json", b"{"), "modules.json is damaged: get the model again"),
    (_with("modules.json", b"[1]"), "modules.json is damaged: get the model again"),
    (_module("Transformer"), "a model with the module Transformer, whose words have no vectors of their own"),
    (_module("StaticEmbedding", "../x"), "modules.json names a folder outside of the model"),
    (_module("StaticEmbedding", "a\0b"), "modules.json names a folder outside of the model"),
    (_module("StaticEmbedding", "none"), "is a directory without a static embedding model"),
    (_tensors(other=np.zeros((2, 2))), "no tensor embeddings or embedding.weight, but other: it is no static"),
    (_tensors(embeddings=np.zeros(22)), "vectors of type F64 and shape (22,): save a matrix of float32"),
    (_tensors(embeddings=np.zeros((22, 2), int)), "vectors of type I64 and shape (22, 2): save a matrix of float32"),
    (_tensors(embeddings=np.zeros((21, 2))), "the tokenizer has 22 tokens, but there are 21 vectors"),
    (_tensors(embeddings=np.full((22, 2), np.nan)), "token 0 has a number that is not finite, or beyond 1e15"),
    (_tensors(embeddings=np.zeros((22, 2)), weights=np.ones(3)), "has 3 weights for 22 tokens: get it again"),
    (_tensors(embeddings=np.zeros((2, 2)), mapping=np.full(22, 2)), "maps a token to a row that does not exist"),
    (_tensors(embeddings=np.zeros((2, 2)), mapping=np.zeros(22)), "maps a token to a row that does not exist"),
]


@pytest.mark.parametrize(("damage", "sentence"), FAULTS)
def test_a_damaged_model_is_refused_in_one_sentence(damage: Any, sentence: str, tmp_path: Path) -> None:
    source = write_model(tmp_path / "m", "model2vec")
    damage(source)
    with pytest.raises(VectorsError) as caught:
        _imported(source, tmp_path / "out")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_model_without_words_is_refused(tmp_path: Path) -> None:
    source = write_model(tmp_path / "m", "model2vec", word_pieces(["[UNK]", "##a"]))
    with pytest.raises(VectorsError, match="has no token that is a word"):
        _imported(source, tmp_path / "out")


@given(name=st.sampled_from(["model.safetensors", "tokenizer.json"]), data=st.data())
def test_any_damage_is_refused_in_one_sentence_or_harmless(name: str, tmp_path: Path, data: st.DataObject) -> None:
    source = write_model(tmp_path / "m", "mapping")
    content = bytearray((source / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(content)))
        content[start : start + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    (source / name).write_bytes(content)
    try:
        embedding = _imported(source, tmp_path / "out")
    except VectorsError as error:
        assert "\n" not in str(error)  # noqa: PT017 - most are refused
    else:
        assert np.isfinite(embedding.known(["plugs", "plug"])[1]).all()
        verify_vectors(tmp_path / "out")


@pytest.mark.parametrize("package", ["tokenizers", "safetensors"])
def test_a_missing_extra_names_its_pip_line(package: str, tmp_path: Path) -> None:
    source = write_model(tmp_path / "m", "model2vec")
    program = (
        f"import sys, pathlib; sys.modules[{package!r}] = None\n"
        "from moverank.indexer.vectors.importing import import_vectors\n"
        "from moverank.rerank.errors import RerankError\n"
        f"try: import_vectors({str(source)!r}, pathlib.Path({str(tmp_path / 'out')!r}))\n"
        "except RerankError as error: print(error)"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert printed.endswith(f" needs the package {package}: python -m pip install 'moverank[static]'\n")


@pytest.mark.slow
def test_pieces_are_those_of_a_real_vocabulary(minilm: Path, tmp_path: Path) -> None:
    """With the words of a real file as tokens, the same words are known, by the same vectors."""
    tokenizers: Any = importlib.import_module("tokenizers")
    known = import_vectors(str(minilm), tmp_path / "file")
    words = ["[UNK]", *known.words]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=UNKNOWN_TOKEN)
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    vectors = np.vstack([np.zeros((1, known.dim), np.float32), known.vectors])
    source = write_model(tmp_path / "m", "model2vec", tokenizer, vectors)
    model = _imported(source, tmp_path / "out", normalize=False)
    assert list(model.words) == list(known.words)
    np.testing.assert_array_equal(model.vectors, known.vectors)
    assert model.find(["zzyzzx", "physics"]).tolist() == known.find(["zzyzzx", "physics"]).tolist()
