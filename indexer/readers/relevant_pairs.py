"""Judgments from pairs of related documents: a table of keys, or the `PostLinks.xml` of a Stack Exchange data dump."""

from moverank.indexer.errors import ReadError
from moverank.indexer.files.gzip_limit import DAMAGED
from moverank.indexer.readers.bad_record import BadRecord
from moverank.indexer.readers.numbered_lines import numbered_lines
from moverank.indexer.readers.sources import Source
from moverank.indexer.readers.streams import open_source
from moverank.indexer.readers.xml_rows import read_rows

Grades = dict[str, dict[str, int]]
"""The grades of documents for each query, by keys; see `read_qrels`."""

_LINKED, _DUPLICATE = "1", "3"
_GRADES = {_LINKED: 1, _DUPLICATE: 2}


def read_pairs(path: str) -> Grades:
    """Return a grade of 1 in both directions for each pair of keys in a file, gzipped or not.

    Keys are separated by a tab or, in a line without tabs, by white space. Raises ReadError, which names the line.
    """
    grades: Grades = {}
    for number, line in numbered_lines(path):
        keys = [key.strip() for key in line.split("\t")] if "\t" in line else line.split()
        if len(keys) != 2 or not all(keys) or keys[0] == keys[1]:
            raise ReadError(f"{path}:{number}: a pair needs the form `key<TAB>other key`")
        _add(grades, keys[0], keys[1], 1)
    if not grades:
        raise ReadError(f"{path}: holds no pair")
    return grades


def read_post_links(path: str) -> Grades:
    """Return the links of a `PostLinks.xml` in both directions: grade 2 for duplicates, 1 for linked questions.

    Raises ReadError for a file that cannot be read, and for one without links.
    """
    grades: Grades = {}
    try:
        with open_source(Source(path, path)) as stream:
            for line, row in read_rows(stream, "postlinks"):
                if isinstance(row, BadRecord):
                    raise ReadError(f"{path}:{line}: {row.reason}")
                kind, post, related = (row.get(name, "") for name in ("LinkTypeId", "PostId", "RelatedPostId"))
                if kind in _GRADES and post and related and post != related:
                    _add(grades, post, related, _GRADES[kind])
    except DAMAGED as error:
        raise ReadError(f"{path}: the gzip data are damaged or cut short: {error}") from error
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not grades:
        raise ReadError(f"{path}: holds no link between two questions")
    return grades


def _add(grades: Grades, one: str, other: str, grade: int) -> None:
    for query, document in ((one, other), (other, one)):
        of_query = grades.setdefault(query, {})
        of_query[document] = max(grade, of_query.get(document, 0))
