"""Static embedding models: directories of a tokenizer and a vector for each of its tokens.

model2vec writes the tensor `embeddings`, perhaps with `mapping` (the row of each token) and `weights` (a factor for
each token). Sentence Transformers writes `embedding.weight` of a module StaticEmbedding, which `modules.json` names.
The vector of a text, here of a word, is the mean over its tokens. Such models are trained for the cosine; the mean of
many tokens is short, and would be near to every word: hence unit length by default.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import VectorsError
from moverank.indexer.files.arrays import is_within, map_array
from moverank.indexer.values.search_options import Progress
from moverank.indexer.vectors.formats.matrix_copy import copy_matrix, step_of
from moverank.indexer.vectors.formats.word2vec import MAX_DIM, Chunk, VectorTable
from moverank.indexer.vectors.manifest import TOKENIZER
from moverank.rerank.errors import EmbeddingError
from moverank.rerank.runtime.parallel import batches
from moverank.rerank.words.subwords import Pieces, Subwords, static_imports
from moverank.rerank.words.vocabulary import encoded

_MODULES, _TENSORS = "modules.json", "model.safetensors"
_NUMBERS = ("F16", "F32", "F64", "I8")
_CHUNK_WORDS = 4096


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of a model that make its vectors."""

    tensors: Path
    tokenizer: Path

    @property
    def paths(self) -> list[Path]:
        """Return all of them."""
        return [self.tensors, self.tokenizer]


@dataclass(frozen=True, slots=True, eq=False)
class _Tokens:
    """The vectors of tokens in a file: row `mapping[i]` of `vectors`, or row i, times `weights[i]` if there are any."""

    vectors: Any  # a tensor in the file, of which slices are read
    shape: tuple[int, int]
    mapping: NDArray[np.int64] | None
    weights: NDArray[np.float64] | None

    def blocks(self) -> Iterator[NDArray[np.float32]]:
        count, dim = self.shape
        source = self.vectors if self.mapping is None else self.vectors[:]
        for start in range(0, count, step_of(dim)):
            part = slice(start, min(count, start + step_of(dim)))
            with np.errstate(over="ignore", invalid="ignore"):  # `copy_matrix` rejects infinite numbers
                rows = np.asarray(source[part if self.mapping is None else self.mapping[part]], np.float32)
                if self.weights is not None:
                    rows = (rows * self.weights[part, None]).astype(np.float32)
            yield rows


def find_model(directory: Path) -> ModelFiles:
    """Return the files of the model in `directory`; VectorsError if something is missing or it is another model."""
    modules = _modules(directory / _MODULES)
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules]
    others = [kind for kind in kinds if kind not in ("StaticEmbedding", "Normalize")]
    if others or (kinds and kinds[0] != "StaticEmbedding"):
        raise VectorsError(
            f"{directory} is a model with the module {(others or kinds)[0]}, whose words have no vectors of their own: "
            "name a model of model2vec or StaticEmbedding"
        )
    folder = directory / str(modules[0].get("path", "")) if modules else directory
    try:
        is_inside = folder.resolve().is_relative_to(directory.resolve())
    except (OSError, ValueError):  # a name that no folder can have
        is_inside = False
    if not is_inside:
        raise VectorsError(f"{directory / _MODULES} names a folder outside of the model: get the model again")
    tensors = _tensors(directory, folder)
    if not (folder / TOKENIZER).is_file():
        raise VectorsError(f"{folder} has no {TOKENIZER}: get the model again, or save it with its tokenizer")
    return ModelFiles(tensors, folder / TOKENIZER)


def read_model(files: ModelFiles, directory: Path, progress: Progress) -> VectorTable:
    """Read a model. Raises VectorsError, MissingExtra without the packages that read it.

    The vectors of its tokens are first copied to `directory`; the words of the table are tokens that are words.
    `progress` is called after each block.
    """
    with static_imports(f"the static embedding model {files.tensors.parent}"):
        from safetensors import SafetensorError, safe_open
    try:
        with safe_open(files.tensors, "numpy") as tensors:
            by_model2vec = "embeddings" in tensors.keys()  # noqa: SIM118 - it is no dictionary
            tokens = _tokens(files.tensors, tensors, "embeddings" if by_model2vec else "embedding.weight")
            path = directory / "subwords"
            digest = copy_matrix(tokens.blocks(), path, tokens.shape, files.tensors, _token_label, progress)
    except (OSError, TypeError, AttributeError, SafetensorError) as error:  # NumPy has no bfloat16, for example
        raise VectorsError(f"{files.tensors} is damaged or cut short ({error}): get it again") from error
    vectors = map_array(path, "<f4", tokens.shape, mode="r")
    pieces = _pieces(files.tokenizer, len(vectors), drop_unknown=by_model2vec)
    kind, chunks = "model2vec" if by_model2vec else "StaticEmbedding", _chunks(files.tokenizer, pieces, vectors)
    subwords = Subwords(vectors, pieces)
    return VectorTable(kind, tokens.shape[1], None, _token_label, chunks, subwords, digest, unit=True)


def _token_label(row: int) -> str:
    return f"token {row}"


def _modules(path: Path) -> list[dict[str, Any]]:
    """Return the modules in a file of Sentence Transformers, which model2vec writes, too; none if it is missing."""
    try:
        modules = json.loads(path.read_text("utf-8")) if path.is_file() else []
    except (OSError, ValueError, RecursionError) as error:
        raise VectorsError(f"{path} is damaged: get the model again") from error
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise VectorsError(f"{path} is damaged: get the model again")
    return modules


def _tensors(directory: Path, folder: Path) -> Path:
    if (folder / _TENSORS).is_file():
        return folder / _TENSORS
    found = list(folder.glob("*.safetensors"))
    if len(found) == 1:
        return found[0]
    if (folder / "pytorch_model.bin").is_file():
        raise VectorsError(
            f"{folder} has its vectors in a pickle, pytorch_model.bin, which is never read: save the "
            "model with safe_serialization=True"
        )
    raise VectorsError(
        f"{directory} is a directory without a static embedding model: that has the files {_TENSORS} and {TOKENIZER}, "
        "as model2vec and Sentence Transformers write them"
    )


def _tokens(path: Path, tensors: Any, name: str) -> _Tokens:
    """Return the vectors of the tokens; VectorsError unless the tensors form a static embedding model."""
    names = sorted(tensors.keys())
    if name not in names:
        raise VectorsError(
            f"{path} has no tensor embeddings or embedding.weight, but {', '.join(names)[:80] or 'none'}: "
            "it is no static embedding model"
        )
    vectors = tensors.get_slice(name)
    shape = vectors.get_shape()
    if vectors.get_dtype() not in _NUMBERS or len(shape) != 2 or not shape[0] or not 0 < shape[1] <= MAX_DIM:
        raise VectorsError(
            f"{path} has vectors of type {vectors.get_dtype()} and shape {tuple(shape)}: save a matrix of float32"
        )
    mapping = tensors.get_tensor("mapping").ravel() if "mapping" in names else None
    count = shape[0] if mapping is None else len(mapping)
    weights = tensors.get_tensor("weights").ravel() if "weights" in names else None
    if mapping is not None and (mapping.dtype.kind not in "iu" or not is_within(mapping, 0, shape[0])):
        raise VectorsError(f"{path} maps a token to a row that does not exist: get it again")
    if weights is not None and (weights.dtype.kind != "f" or len(weights) != count):
        raise VectorsError(f"{path} has {len(weights)} weights for {count} tokens: get it again")
    return _Tokens(vectors, (count, shape[1]), mapping, weights)


def _pieces(path: Path, vectors: int, *, drop_unknown: bool) -> Pieces:
    """Return the pieces by the tokenizer at `path`; VectorsError if it does not belong to that many `vectors`."""
    try:
        pieces = Pieces(path.read_text("utf-8"), drop_unknown)
        pieces.rows("", vectors)
    except (OSError, ValueError) as error:  # EmbeddingError among them
        raise VectorsError(f"{path} cannot be used ({error}): get the model again") from error
    return pieces


def _chunks(path: Path, pieces: Pieces, vectors: NDArray[np.float32]) -> Iterator[Chunk]:
    """Yield the tokens that are words, with their vectors; VectorsError if none is."""
    found = False
    try:
        for some in batches(pieces.words(len(vectors)), _CHUNK_WORDS):
            found = True
            yield [encoded(word) for word, _ in some], vectors[[row for _, row in some]]
    except EmbeddingError as error:
        raise VectorsError(f"{path} cannot be used ({error}): get the model again") from error
    if not found:
        raise VectorsError(f"{path} has no token that is a word: get the model again")
