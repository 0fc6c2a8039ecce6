import numpy as np
import pytest

from moverank.rerank.encoders.counts import counted, frequent_words
from moverank.rerank.errors import EncoderError
from tests.rerank.encoders.themes import make_documents

DOCUMENTS = make_documents([[2, 0, 1, 0], [1, 0, 0, 5], [0, 0, 1, 0]], np.array([2, 3, 5, 7]))


def test_words_of_the_most_documents_are_kept_and_of_equals_the_lower() -> None:
    np.testing.assert_array_equal(frequent_words(DOCUMENTS, 2), [2, 5])
    np.testing.assert_array_equal(frequent_words(DOCUMENTS, 1), [2])
    # The word 3 is in no document.
    np.testing.assert_array_equal(frequent_words(DOCUMENTS, 9), [2, 5, 7])


def test_no_document_is_nothing_to_learn_from() -> None:
    with pytest.raises(EncoderError, match="give it one at least"):
        frequent_words(DOCUMENTS.take(np.empty(0, np.int64)), 5)


def test_counts_are_weights_times_length_of_known_words() -> None:
    rows = counted(DOCUMENTS, np.array([0, 2, 7])).toarray()
    np.testing.assert_allclose(rows, [[0, 2, 0], [0, 1, 5], [0, 0, 0]])
