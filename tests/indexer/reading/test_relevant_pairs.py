import gzip

import pytest

from moverank.indexer.errors import ReadError
from moverank.indexer.reading.inputs.judgments import read_pairs, read_post_links
from tests.indexer.reading.conftest import Write

_LINKS = """<?xml version="1.0" encoding="utf-8"?>
<postlinks>
  <row Id="1" CreationDate="2010-07-06T00:00:00.000" PostId="4" RelatedPostId="7" LinkTypeId="1" />
  <row Id="2" CreationDate="2010-07-06T00:00:00.000" PostId="7" RelatedPostId="4" LinkTypeId="3" />
  <row Id="3" CreationDate="2010-07-06T00:00:00.000" PostId="9" RelatedPostId="4" LinkTypeId="1" />
  <row Id="4" CreationDate="2010-07-06T00:00:00.000" PostId="9" RelatedPostId="9" LinkTypeId="1" />
  <row Id="5" CreationDate="2010-07-06T00:00:00.000" PostId="9" RelatedPostId="5" LinkTypeId="2" />
</postlinks>
"""


def test_links_are_judgments_in_both_directions(write: Write) -> None:
    expected = {"4": {"7": 2, "9": 1}, "7": {"4": 2}, "9": {"4": 1}}
    assert read_post_links(write("PostLinks.xml", _LINKS)) == expected
    assert read_post_links(write("PostLinks.xml.gz", gzip.compress(_LINKS.encode()))) == expected


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<posts></posts>", "links:1: the file holds <posts>, not <postlinks>"),
        ("<postlinks><row", "links:1: broken XML"),
        ("<postlinks></postlinks>", "links: holds no link between two questions"),
        (gzip.compress(_LINKS.encode())[:-20], "links: the gzip data are damaged"),
    ],
)
def test_bad_links_are_named(write: Write, content: str | bytes, reason: str) -> None:
    with pytest.raises(ReadError, match=f"^[^:]*{reason}"):
        read_post_links(write("links", content))
    with pytest.raises(ReadError, match="nowhere: cannot be read"):
        read_post_links("nowhere")


def test_pairs_are_judgments_in_both_directions(write: Write) -> None:
    assert read_pairs(write("pairs", "a b\n\na key\tc\n")) == {
        "a": {"b": 1},
        "b": {"a": 1},
        "a key": {"c": 1},
        "c": {"a key": 1},
    }


@pytest.mark.parametrize("content", ["a", "a b c", "a a", "a\t"])
def test_bad_pairs_are_named(write: Write, content: str) -> None:
    with pytest.raises(ReadError, match="pairs:1: a pair needs the form"):
        read_pairs(write("pairs", content))
    with pytest.raises(ReadError, match="pairs: holds no pair"):
        read_pairs(write("pairs", "\n"))
