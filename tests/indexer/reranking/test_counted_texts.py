from dataclasses import replace

import numpy as np
import pytest

from moverank.indexer.reranking.texts import Texts
from moverank.indexer.values.word_factors import CorpusVocabulary
from moverank.rerank.bags.bag import TITLE
from moverank.rerank.bags.weights import PartCounts

VOCABULARY = CorpusVocabulary(np.ones((3, 2), np.float32), np.array([True, True, False]), "made")
# Word 0 in the title, in part 0 and in part 2; then an empty text; then word 2 in part 1.
COUNTS = PartCounts(
    np.array([0, 4, 4, 5]),
    np.array([0, 0, 0, 1, 2], np.int32),
    np.array([TITLE, 0, 2, 2, 1], np.int32),
    np.array([1, 2, 3, 4, 5], np.int32),
)
TEXTS = Texts(("a", "b", "c"), COUNTS, VOCABULARY, title_weight=2.5)


def test_bags_are_over_known_words() -> None:
    rows, bags = TEXTS.bags(0.0, None)
    assert rows.tolist() == [0]
    assert bags[0].weights.tolist() == pytest.approx([7.5 / 11.5, 4 / 11.5])


def test_the_digest_depends_on_the_title_weight_if_there_are_titles() -> None:
    assert TEXTS.digest != replace(TEXTS, title_weight=1.0).digest
    untitled = TEXTS.take([2])
    assert untitled.digest == replace(untitled, title_weight=1.0).digest
    assert untitled.title_weight == 2.5
