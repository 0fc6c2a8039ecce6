from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors
from numpy.typing import NDArray

WORDS = ["the", "naïve", "日本", "x", "New_York"]


@pytest.fixture(autouse=True)
def _no_log(no_log: None) -> None:
    """Training logs what it does."""


@pytest.fixture
def matrix() -> NDArray[np.float32]:
    return np.random.default_rng(3).standard_normal((len(WORDS), 4)).astype(np.float32)


@pytest.fixture
def keyed(matrix: NDArray[np.float32]) -> Any:
    vectors = KeyedVectors(4)
    vectors.add_vectors(WORDS, matrix)
    return vectors


@pytest.fixture(scope="session")
def fasttext() -> Any:
    texts = ["the cat sat on the mat", "the dog sat on the log", "naïve cats and dogs 日本 日本"]
    sentences = [text.split() for text in texts * 3]
    return FastText(sentences, vector_size=6, min_count=1, bucket=50, min_n=2, max_n=4, epochs=2, workers=1, seed=1)


@pytest.fixture
def minilm() -> Path:
    path = Path(__file__).resolve().parents[4] / "shared" / "vectors" / "minilm-words-200d.bin"
    if not path.exists():
        pytest.skip(f"the real vectors are not here: {path.name}")
    return path
