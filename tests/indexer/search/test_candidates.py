"""Every encoder serves as a first stage: fitted once, kept with the snapshot, applied to what comes later."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from moverank import Collection, Document
from moverank.indexer.search.view import View
from moverank.rerank.encoders.encoder import fingerprint
from moverank.rerank.encoders.encoder_registry import ENCODERS
from tests.indexer.world import WORDS, Twin, check_exact, check_honest, document, random_documents, snapshots

SMALL = (
    "centroid",
    "centroid:idf=yes",
    "fisher:k=3,dim=3",
    "lsi:dim=4",
    "lda:topics=4",
    "msda:features=8",
    "ccg:extent=4,window=2",
)
"""Every encoder, with options that make it small."""
Make = Callable[..., Collection]


@pytest.fixture(params=SMALL)
def encoder(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _made(make: Make, encoder: str) -> Collection:
    name, _, options = encoder.partition(":")
    return make(first_stage=name, first_stage_options=tuple(option for option in options.split(",") if option))


def _view(collection: Collection) -> View:
    collection.search("ant")
    assert collection._searcher is not None  # noqa: SLF001 - what a search looks at is not shown otherwise
    return collection._searcher._view  # noqa: SLF001


def _encoded(collection: Collection, keys: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of documents d0, d1, ... as the collection's own encoder makes them."""
    view = _view(collection)
    found: dict[int, NDArray[np.float32]] = {}
    for part in view.segments:
        vectors = part.encoded(view.encoder(), np.arange(len(part.segment.ids)), 0.0)
        found |= dict(zip(part.segment.ids.tolist(), vectors, strict=True))
    with collection._store.reading() as reader:  # noqa: SLF001
        return np.array([found[reader.known([key])[key].id] for key in keys])


def _numbered(first: int, last: int) -> list[Document]:
    return random_documents(last, seed=8)[first:]


def test_every_encoder_is_tried() -> None:
    assert {encoder.partition(":")[0] for encoder in SMALL} == set(ENCODERS)


@pytest.mark.usefixtures("always_compact")
def test_candidates_of_any_encoder_are_reranked_exactly(make: Make, encoder: str) -> None:
    collection, twin = _made(make, encoder), Twin()
    twin.add(_numbered(0, 60))
    collection.index(twin.documents.values())
    for query in ("ant bee", "lark", "elk fox gnu zorp"):
        expected = twin.distances(query)
        check_honest(collection.search(query, k=3, depth=12), expected, 3)
        check_exact(collection.search(query, k=3, depth=12, exact=True), expected, 3)
        check_exact(collection.search(query, k=3), expected, 3)
    found = collection.similar("d1", k=3, depth=5)
    assert len(found.hits) == 3
    [together] = collection.search_many(["ant bee"], k=3, depth=12)
    assert together.hits == collection.search("ant bee", k=3, depth=12).hits


def test_only_centroids_of_the_bags_prove_anything(make: Make, encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 0)
    collection = _made(make, encoder)
    collection.index([*_numbered(0, 40), *(document(f"far{i}", "lark lark ant") for i in range(3))])
    certified = [collection.search("lark lark lark lark ant", k=3, depth=4).certified]
    assert certified == [encoder == "centroid"]


def test_later_documents_are_encoded_by_the_kept_fit_bit_for_bit(
    make: Make, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 0)
    collection = _made(make, encoder)
    collection.index(_numbered(0, 40))
    fitted = fingerprint(_view(collection).encoder())
    before = _encoded(collection, ["d0", "d39"])
    with monkeypatch.context() as patch:
        patch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 999)
        collection.index(_numbered(0, 50))
        in_tail = _encoded(collection, ["d0", "d39", "d40", "d49"])
    collection.index([*_numbered(0, 50), document("more", "ant bee")])
    assert len(_view(collection).segments) == 1
    folded = _encoded(collection, ["d0", "d39", "d40", "d49"])
    assert fingerprint(_view(collection).encoder()) == fitted
    assert in_tail[:2].tobytes() == before.tobytes()
    assert folded.tobytes() == in_tail.tobytes()


def test_refit_learns_from_all_documents(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moverank.indexer.snapshot.compaction.SMALL_TAIL", 0)
    collection, twin = _made(make, "lsi:dim=4"), Twin()
    collection.refit()
    assert snapshots(collection) == []
    twin.add([*_numbered(0, 10), *(document(f"x{i}", " ".join(WORDS[i:])) for i in range(9))])
    collection.index(_numbered(0, 10))
    collection.index(twin.documents.values())
    old = fingerprint(_view(collection).encoder())
    collection.refit()
    assert fingerprint(_view(collection).encoder()) != old
    check_exact(collection.search("ant bee", k=4), twin.distances("ant bee"), 4)
    with Collection.open(collection.path) as opened:
        check_honest(opened.search("ant bee", k=2, depth=5), twin.distances("ant bee"), 2)


@pytest.mark.usefixtures("always_compact")
def test_another_encoder_can_be_chosen_later(collection: Collection) -> None:
    twin = Twin()
    twin.add(_numbered(0, 30))
    collection.index(twin.documents.values())
    collection.change_settings(first_stage="fisher", first_stage_options=("k=2",))
    check_honest(collection.search("ant", k=2, depth=5), twin.distances("ant"), 2)
    collection.index([])
    assert _view(collection).encoder().name == "fisher"
    check_honest(collection.search("ant", k=2, depth=5), twin.distances("ant"), 2)


@pytest.mark.usefixtures("always_compact")
def test_a_damaged_encoder_is_made_again_where_it_is_needed(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    collection, twin = _made(make, "fisher:k=3,dim=3"), Twin()
    twin.add(_numbered(0, 30))
    collection.index(twin.documents.values())
    [path] = [Path(collection.path) / name / "encoder.npz" for name in snapshots(collection)]
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    path.write_bytes(content)
    with Collection.open(collection.path) as opened:
        check_exact(opened.search("ant", k=3), twin.distances("ant"), 3)
        assert not caplog.messages
        check_honest(opened.search("ant", k=3, depth=5), twin.distances("ant"), 3)
        assert "encoder.npz has another checksum" in caplog.text
        assert _view(opened).encoder().name == "fisher"


@pytest.mark.usefixtures("always_compact")
def test_a_damaged_encoder_is_fitted_again_by_the_next_writer(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    collection, twin = _made(make, "fisher"), Twin()
    twin.add(_numbered(0, 30))
    collection.index(twin.documents.values())
    [name] = snapshots(collection)
    path = collection.path / name / "encoder.npz"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    twin.add(_numbered(30, 40))
    collection.index(twin.documents.values())
    assert "encoder.npz has another checksum" in caplog.text
    assert snapshots(collection) != [name]
    check_honest(collection.search("ant", k=3, depth=5), twin.distances("ant"), 3)
