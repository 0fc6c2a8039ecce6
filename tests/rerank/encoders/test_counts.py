import numpy as np
import pytest

from moverank.rerank.encoders.encoder import frequent_words, training_sample
from moverank.rerank.errors import EncoderError
from tests.rerank.encoders.worlds import counted_documents

DOCUMENTS = counted_documents([[2, 0, 1, 0], [1, 0, 0, 5], [0, 0, 1, 0]], np.array([2, 3, 5, 7]))


def test_frequent_words_are_those_of_the_highest_document_frequency_and_lower_ids_win_ties() -> None:
    np.testing.assert_array_equal(frequent_words(DOCUMENTS, 2), [2, 5])
    np.testing.assert_array_equal(frequent_words(DOCUMENTS, 1), [2])
    # No document contains the word 3.
    np.testing.assert_array_equal(frequent_words(DOCUMENTS, 9), [2, 5, 7])


def test_a_fit_without_documents_is_rejected() -> None:
    with pytest.raises(EncoderError, match="give at least one"):
        frequent_words(DOCUMENTS.take(np.empty(0, np.int64)), 5)


def test_a_training_sample_has_its_own_frequent_words() -> None:
    sample, word_ids = training_sample(DOCUMENTS, 2, 9, seed=0)
    assert len(sample) == 2
    np.testing.assert_array_equal(word_ids, frequent_words(sample, 9))
    np.testing.assert_array_equal(training_sample(DOCUMENTS, 3, 1, seed=0)[1], [2])
