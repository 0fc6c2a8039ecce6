"""The texts of Cranfield, on which scorers are compared with other implementations."""

from pathlib import Path

import pytest

from moverank.rerank.testing.sample_counts import Counted, CountedSegment
from moverank.rerank.words.tokenizer import Tokenizer, stop_words
from tests.benchmarks.retrieval_sets import RetrievalSet


@pytest.fixture(scope="module")
def cranfield(shared: Path) -> RetrievalSet:
    return RetrievalSet.read(shared / "data" / "cranfield", Tokenizer(stop_words()))


@pytest.fixture(scope="module")
def segment(cranfield: RetrievalSet) -> CountedSegment:
    return Counted(cranfield.documents, {}).segment()
