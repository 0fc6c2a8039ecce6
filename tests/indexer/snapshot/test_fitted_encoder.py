"""The encoder of the first stage: fitted once, stored with the snapshot, and applied to later documents."""

from pathlib import Path

import pytest

from moverank import Collection
from moverank.indexer.errors import DamagedFile
from moverank.indexer.snapshot.encoder_fit import FittedEncoder
from tests.indexer.snapshot.small_encoders import SMALL_ENCODERS, encoded, encoder_state, view_of, with_encoder
from tests.indexer.stored_state import change_last_byte, only_snapshot, snapshots
from tests.indexer.world import (
    WORDS,
    MakeCollection,
    Twin,
    check_exact,
    check_sound,
    document,
    random_documents,
    snapshot_above,
)

pytestmark = pytest.mark.usefixtures("always_compact")


@pytest.mark.parametrize("encoder", SMALL_ENCODERS)
def test_later_documents_are_encoded_by_the_stored_fit_bit_for_bit(
    make_collection: MakeCollection, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    collection, documents = with_encoder(make_collection, encoder), random_documents(50, seed=8)
    collection.index(documents[:40])
    fitted = encoder_state(collection)
    before = encoded(collection, ["d0", "d39"])
    with monkeypatch.context() as patch:
        snapshot_above(patch, 999)
        collection.index(documents)
        in_tail = encoded(collection, ["d0", "d39", "d40", "d49"])
    collection.index([*documents, document("more", "ant bee")])
    assert len(view_of(collection).segments) == 1
    compacted = encoded(collection, ["d0", "d39", "d40", "d49"])
    assert encoder_state(collection) == fitted
    assert in_tail[:2].tobytes() == before.tobytes()
    assert compacted.tobytes() == in_tail.tobytes()


def test_refit_fits_the_encoder_to_all_documents(make_collection: MakeCollection) -> None:
    collection, twin = with_encoder(make_collection, "lsi:dim=4"), Twin.of(random_documents(10, seed=8))
    collection.refit()
    assert snapshots(collection) == []
    collection.index(twin.documents.values())
    twin.add(document(f"x{i}", " ".join(WORDS[i:])) for i in range(9))
    collection.index(twin.documents.values())
    before = encoder_state(collection)
    collection.refit()
    assert encoder_state(collection) != before
    check_exact(collection.search("ant bee", k=4), twin.distances("ant bee"), 4)
    with Collection.open(collection.path) as opened:
        check_sound(opened.search("ant bee", k=2, depth=5), twin.distances("ant bee"), 2)


def test_a_damaged_encoder_is_noticed_by_the_first_search_by_candidates(
    make_collection: MakeCollection, caplog: pytest.LogCaptureFixture
) -> None:
    collection, twin = with_encoder(make_collection, "fisher:k=3,dim=3"), Twin.of(random_documents(30, seed=8))
    collection.index(twin.documents.values())
    path = only_snapshot(collection) / "encoder"
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    path.write_bytes(content)
    with Collection.open(collection.path) as opened:
        check_exact(opened.search("ant", k=3), twin.distances("ant"), 3)
        assert not caplog.messages
        check_sound(opened.search("ant", k=3, depth=5), twin.distances("ant"), 3)
        assert "encoder does not match its checksum" in caplog.text
        assert view_of(opened).encoder().name == "fisher"


def test_a_damaged_encoder_is_fitted_again_by_the_next_change(
    make_collection: MakeCollection, caplog: pytest.LogCaptureFixture
) -> None:
    collection, documents = with_encoder(make_collection, "fisher"), random_documents(40, seed=8)
    collection.index(documents[:30])
    before = only_snapshot(collection)
    change_last_byte(before / "encoder")
    collection.index(documents)
    assert "encoder does not match its checksum" in caplog.text
    assert only_snapshot(collection) != before
    check_sound(collection.search("ant", k=3, depth=5), Twin.of(documents).distances("ant"), 3)


@pytest.mark.parametrize("content", [b"no archive", b"PK\3\4"])
def test_a_file_without_an_encoder_is_damaged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "encoder"
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match="holds no encoder"):
        FittedEncoder(path, "centroid").restored()
