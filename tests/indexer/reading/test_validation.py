import pytest

from moverank.indexer.reading.records import BadRecord
from moverank.indexer.reading.source_reader import Validation
from moverank.indexer.values.documents import Document, Part, Rejection


def check(result: Document | BadRecord) -> Document | Rejection:
    validation = Validation()
    validation.start_source("f")
    return validation.check(3, result)


@pytest.mark.parametrize(
    ("document", "accepted"),
    [
        (Document("a", "", (Part("x"),)), True),
        (Document("a", "", (Part(" "), Part("x", 1))), True),
        (Document("a", "t"), True),
        (Document("a", "t", (Part(" "),)), True),
        (Document("a", "t", (Part("x"),), title_counts=False), True),
        (Document("a", "t", title_counts=False), False),
        (Document("a", " ", (Part("\n"),)), False),
        (Document("a"), False),
    ],
)
def test_text_is_a_part_or_a_title_that_counts(document: Document, accepted: bool) -> None:
    expected = Rejection("f", 3, "there is no text: give it some, or leave the record out", "a")
    assert check(document) == (document if accepted else expected)


def test_a_bad_record_is_rejected_with_its_key() -> None:
    assert check(BadRecord("bad", "a")) == Rejection("f", 3, "bad", "a")


def test_a_key_is_taken_by_the_first_document_of_any_source() -> None:
    validation = Validation()
    one = Document("a", "t")
    validation.start_source("f")
    assert validation.check(1, one) is one
    reason = "the key 'a' is already taken by f:1: keys must be unique"
    assert validation.check(1, one) == Rejection("f", 1, reason, "a")  # two rows of XML may be on one line
    validation.start_source("g")
    remedy = ", so index each source by itself with a --prefix of its own"
    assert validation.check(0, one) == Rejection("g", 0, reason + remedy, "a")
