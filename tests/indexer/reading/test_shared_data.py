from pathlib import Path

import pytest

from moverank.indexer.reading import read_documents, read_threads
from moverank.indexer.values.documents import Document

DATA = Path(__file__).parents[4] / "shared" / "data"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="needs the real data beside the checkout, ../shared/data")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count", "rejected", "labels"),
    [
        ("20news", 18_846, 0, 20),
        ("r8", 7_674, 0, 8),
        ("twitter", 3_115, 0, 3),
        ("bbcsport", 737, 0, 5),
        ("classic", 7_095, 0, 4),
        ("cranfield", 1_398, 2, 0),  # 471 and 995 have neither title nor text
        ("scifact", 5_183, 0, 0),
    ],
)
def test_documents(name: str, count: int, rejected: int, labels: int) -> None:
    documents: list[Document] = []
    reasons: list[str] = []
    for result in read_documents([str(DATA / name / "docs.jsonl.gz")]):
        if isinstance(result, Document):
            documents.append(result)
        else:
            reasons.append(result.reason)
    assert (len(documents), len(reasons)) == (count, rejected)
    assert all("there is no text" in reason for reason in reasons)
    assert len({document.label for document in documents} - {None}) == labels


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "count", "rejected"),
    [
        ("twinfilms", 217, 3),  # the three films without keywords
        ("semeval_cqa", 1_375, 0),
        ("stackexchange_quantumcomputing", 612, 0),
        ("stackexchange_bicycles_meta", 453, 0),
    ],
)
def test_threads(name: str, count: int, rejected: int) -> None:
    results = list(read_threads([str(DATA / name / "threads.jsonl.gz")]))
    documents = [item for item in results if isinstance(item, Document)]
    assert (len(documents), len(results) - len(documents)) == (count, rejected)
    for document in documents:
        assert document.title
        ranks = [part.rank for part in document.parts]
        assert ranks[0] == 0 or (ranks[0] == 1 and document.title_counts)  # some opening posts are only a title
        assert ranks == sorted(set(ranks))  # an empty comment leaves a gap


def test_the_name_of_a_film_is_only_shown() -> None:
    first = next(read_threads([str(DATA / "twinfilms" / "threads.jsonl.gz")]))
    assert isinstance(first, Document)
    assert first.title == "Jezebel (1938)"
    assert not first.title_counts
    assert first.parts[0].text == "1850s"
    assert not any("Jezebel" in part.text for part in first.parts)


def test_a_subject_is_the_title() -> None:
    first = next(read_documents([str(DATA / "20news" / "docs.jsonl.gz")]))
    assert isinstance(first, Document)
    assert first.key == "train/alt.atheism/49960"
    assert first.title == "Alt.Atheism FAQ: Atheist Resources"
    assert first.title_counts
    assert first.parts[0].text.startswith("Archive-name: atheism/resources")
    assert first.metadata == {"split": "train"}
