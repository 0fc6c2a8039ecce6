"""Static embedding models as model2vec and Sentence Transformers write them, by the libraries that these write with."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

UNKNOWN_TOKEN = "[UNK]"  # noqa: S105 - no password
TOKENS = [
    *("[PAD]", "[UNK]", "the", "mains", "plug", "gets", "hot", "warm", "socket", "cat", "sleeps", "un", "re", "a", "b"),
    *("##s", "##ed", "##ing", "##ly", "##a", "##b", "##plug"),
]
KINDS = ("model2vec", "weights", "mapping", "StaticEmbedding", "nested", "Normalize")


def word_pieces(tokens: Sequence[str] = TOKENS) -> Any:
    """Return a tokenizer of WordPiece; in words of other letters every piece is unknown."""
    tokenizers = pytest.importorskip("tokenizers", reason="needs the extra static")
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(numbered(tokens), unk_token=UNKNOWN_TOKEN))
    made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.decoder = tokenizers.decoders.WordPiece()
    return made


def numbered(tokens: Sequence[str]) -> dict[str, int]:
    return {token: i for i, token in enumerate(tokens)}


def token_vectors(count: int = len(TOKENS), dim: int = 5, seed: int = 2) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal((count, dim)).astype(np.float32)


def write_model(directory: Path, kind: str, tokenizer: Any = None, vectors: NDArray[Any] | None = None) -> Path:
    """Write a model of one of the `KINDS`, and return its directory."""
    tokenizer = tokenizer or word_pieces()
    matrix = token_vectors(tokenizer.get_vocab_size()) if vectors is None else vectors
    config: dict[str, Any] = {"max_length": 512, "normalize": False, "embedding_dtype": "float32"}
    if kind == "model2vec":
        tensors = {"embeddings": matrix}
    elif kind == "weights":
        tensors = {"embeddings": matrix, "weights": np.linspace(0.1, 2.0, len(matrix))}
    elif kind == "mapping":
        mapping = np.arange(len(matrix)) % 7
        tensors = {"embeddings": matrix[:7], "weights": np.linspace(2.0, 0.1, len(matrix)), "mapping": mapping}
    else:
        tensors, config = {"embedding.weight": matrix}, {}
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.StaticEmbedding"}
    folder = directory
    if kind == "nested":
        folder, module["path"] = directory / "0_StaticEmbedding", "0_StaticEmbedding"
    last = {"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"}
    write_files(folder, tensors, tokenizer)
    _write(directory / "modules.json", [module, last] if kind == "Normalize" else [module])
    _write(directory / ("config.json" if config else "config_sentence_transformers.json"), config)
    return directory


def write_files(folder: Path, tensors: Mapping[str, NDArray[Any]], tokenizer: Any = None) -> Path:
    """Write the tensors and the tokenizer of a model."""
    safetensors = pytest.importorskip("safetensors.numpy", reason="needs the extra static")
    folder.mkdir(parents=True, exist_ok=True)
    safetensors.save_file(
        {name: np.ascontiguousarray(one) for name, one in tensors.items()}, folder / "model.safetensors"
    )
    (tokenizer or word_pieces()).save(str(folder / "tokenizer.json"))
    return folder


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content))
