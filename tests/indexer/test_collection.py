import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from threadpoolctl import threadpool_info

from moverank import (
    Collection,
    CollectionError,
    LockedError,
    Settings,
    SettingsError,
    UnknownKey,
    UsageError,
    VectorsError,
)
from moverank.rerank.runtime.threads import single_threaded_blas
from moverank.rerank.words.tokenizer import Tokenizer
from tests.indexer.world import (
    Twin,
    Workshop,
    check_exact,
    document,
    random_documents,
    record_counting,
    snapshots,
    store_of,
)


def test_a_new_collection_is_empty(tmp_path: Path, workshop: Workshop) -> None:
    place = tmp_path / "deep" / "forum.index"
    assert not Collection.exists(place)
    with Collection.create(place, workshop.settings()) as made:
        assert made.info()["documents"] == made.info()["revision"] == 0
    assert Collection.exists(place)
    with Collection.open(str(place)) as opened:
        assert opened.settings == replace(workshop.settings(), normalize=False)


def test_there_is_one_collection_in_a_place(collection: Collection, workshop: Workshop) -> None:
    with pytest.raises(CollectionError, match="holds a collection already: open it, or choose another place"):
        Collection.create(collection.path, workshop.settings())
    assert collection.info()["documents"] == 0


def test_what_is_there_is_left_alone(tmp_path: Path, workshop: Workshop) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(CollectionError, match=r"holds thesis\.txt and no collection: choose another place"):
        Collection.create(tmp_path, workshop.settings())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(CollectionError, match="cannot be made: "):
        Collection.create(tmp_path / "thesis.txt", workshop.settings())
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize(
    ("choices", "error"),
    [
        ({"embedding": "absent.bin"}, VectorsError),
        ({"weights": "bm25"}, UsageError),
        ({"gamma": -1.0}, UsageError),
        ({"first_stage": "magic"}, UsageError),
        ({"faiss": "nonsense"}, UsageError),
        ({"embedding": "lsi", "train_options": ("colour=red",)}, UsageError),
        ({"train_options": ("dim=5",)}, UsageError),
    ],
)
def test_a_failure_leaves_nothing_behind(
    tmp_path: Path, workshop: Workshop, choices: dict[str, Any], error: type[Exception]
) -> None:
    place = tmp_path / "new"
    with pytest.raises(error) as caught:
        Collection.create(place, replace(workshop.settings(), **choices))
    assert "\n" not in str(caught.value)
    assert not place.exists()


def test_an_interrupted_creation_leaves_nothing_behind(
    tmp_path: Path, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("moverank.indexer.store.Writer.set_settings", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Collection.create(tmp_path / "new", workshop.settings())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, "empty directory", "a file"])
def test_where_there_is_no_collection(tmp_path: Path, content: str | None) -> None:
    place = tmp_path / "x"
    if content == "a file":
        place.write_text("")
    elif content:
        place.mkdir()
    with pytest.raises(CollectionError, match=r"there is no collection in .*: make one with `moverank index") as caught:
        Collection.open(place)
    assert "\n" not in str(caught.value)
    assert content or not place.exists()


def test_a_database_that_is_none(collection: Collection) -> None:
    collection.close()
    for leftover in collection.path.glob("collection.db-*"):
        leftover.unlink()
    (collection.path / "collection.db").write_text("no database " * 99)
    with pytest.raises(CollectionError, match="damaged or not one of ours") as caught:
        Collection.open(collection.path)
    assert "\n" not in str(caught.value)


def test_vectors_that_are_gone(collection: Collection) -> None:
    (collection.path / "vectors").rename(collection.path / "elsewhere")
    with pytest.raises(VectorsError, match="holds no word vectors"):
        Collection.open(collection.path)


def test_what_was_indexed_is_there_after_opening(collection: Collection) -> None:
    twin = Twin()
    twin.add(random_documents(8))
    collection.index(twin.documents.values())
    with Collection.open(collection.path) as opened:
        check_exact(opened.search("ant bee", k=9), twin.distances("ant bee"), 9)


def test_info_tells_sizes_revision_and_settings(make: Callable[..., Collection]) -> None:
    collection = make(gamma=0.5)
    collection.index(
        [document("a", "ant zorp", "bee", label="red", metadata={"year": 1}), document("b", "ant of"), document("c")]
    )
    collection.remove(["b"])
    info = collection.info()
    sizes = {"documents": 2, "parts": 2, "wordless": 1, "words": 3, "known_words": 2, "revision": 2}
    assert {name: info[name] for name in sizes} == sizes
    assert (info["fields"], info["dim"], info["vectors"]) == (["label", "year"], 4, 12)
    assert (info["gamma"], info["weights"], info["stop_words"], info["faiss"]) == (0.5, "tf", 2, "auto")
    assert info["faiss_in_use"] is None
    assert info["bytes"] > (collection.path / "collection.db").stat().st_size
    assert set(info) == set(Settings().stored()) | set(sizes) | {"fields", "dim", "vectors", "bytes", "faiss_in_use"}


@pytest.mark.usefixtures("always_compact")
@pytest.mark.parametrize("gamma", [0.0, 0.3, 2.0])
def test_gamma_is_free_at_query_time(collection: Collection, gamma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    twin = Twin()
    twin.add(
        [
            document(f"d{i}", f"ant {found.parts[0].text}", "bee cat", "dog")
            for i, found in enumerate(random_documents(8))
        ]
    )
    collection.index(twin.documents.values())
    read = record_counting(monkeypatch)
    before = snapshots(collection)
    check_exact(collection.search("elk dog", k=8, gamma=gamma), twin.distances("elk dog", gamma=gamma), 8)
    assert (read, snapshots(collection), collection.settings.gamma) == (["elk dog"], before, 0.0)


@pytest.mark.usefixtures("always_compact")
def test_gamma_weights_and_first_stage_can_change_later(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [document(f"d{i}", found.parts[0].text, "bee ant") for i, found in enumerate(random_documents(9))]
    collection.index(documents)
    collection.search("ant")
    with monkeypatch.context() as patch:
        patch.setattr(Tokenizer, "words", lambda *_: pytest.fail("a text was read again"))
        collection.change_settings(gamma=0.6, weights="tfidf", faiss="HNSW16", embedding=collection.settings.embedding)
        assert collection.index([]).revision == 1
    twin = Twin(weights="tfidf")
    twin.add(documents)
    check_exact(collection.search("ant dog", k=5), twin.distances("ant dog", gamma=0.6), 5)
    with Collection.open(collection.path) as opened:
        assert (opened.settings.gamma, opened.settings.weights, opened.settings.faiss) == (0.6, "tfidf", "HNSW16")
        check_exact(opened.search("ant dog", k=5), twin.distances("ant dog", gamma=0.6), 5)
        opened.change_settings(gamma=0.0, weights="tf")
        twin.weights = "tf"
        check_exact(opened.search("ant dog", k=5), twin.distances("ant dog"), 5)


def test_settings_made_for_good(collection: Collection, tmp_path: Path, workshop: Workshop) -> None:
    before = collection.settings
    for choices in ({"stop_words": ("x",)}, {"normalize": True}, {"embedding": "lsi"}):
        with pytest.raises(SettingsError, match="the collection was made with another"):
            collection.change_settings(gamma=0.5, **choices)
    for wrong in ({"gamma": -1.0}, {"weights": "bm25"}, {"faiss": "nonsense"}, {"first_stage": "magic"}):
        with pytest.raises(UsageError):
            collection.change_settings(**wrong)
    other = tmp_path / "other.txt"
    other.write_text(workshop.vectors.read_text().replace("ant", "ann"))
    with pytest.raises(SettingsError, match="another embedding"):
        collection.change_settings(embedding=str(other))
    assert collection.settings == before
    with Collection.open(collection.path) as opened:
        assert opened.settings == before


def test_the_same_vectors_may_be_named_again(collection: Collection, tmp_path: Path, workshop: Workshop) -> None:
    before = collection.settings
    copy = tmp_path / "copy.txt"
    copy.write_bytes(workshop.vectors.read_bytes())
    collection.change_settings(embedding=str(workshop.vectors))
    collection.change_settings(embedding=str(copy))
    collection.change_settings(stop_words=before.stop_words, embedding=None)
    assert collection.settings == before


def test_one_process_writes(collection: Collection) -> None:
    collection.index([document("a", "ant")])
    script = "import sys; from filelock import FileLock\nwith FileLock(sys.argv[1]): print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script, str(collection.path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout
        assert other.stdout.readline().strip() == b"held"
        for change in (
            lambda: collection.index([document("b", "bee")]),
            lambda: collection.remove(["a"]),
            lambda: collection.change_settings(gamma=0.5),
        ):
            with pytest.raises(LockedError, match=r"another process is writing to .*: try again when it is done"):
                change()
        # Reading goes on.
        assert [hit.key for hit in collection.search("ant").hits] == ["a"]
        other.communicate(b"\n")
    assert collection.settings.gamma == 0
    assert collection.index([document("b", "bee")]).added == 1


def test_the_lock_is_given_back_after_a_failure(collection: Collection) -> None:
    with pytest.raises(UnknownKey):
        collection.remove(["nobody"])
    with FileLock(collection.path / "lock", timeout=0):
        pass
    collection.index([document("a", "ant")])


@pytest.mark.usefixtures("always_compact")
def test_a_reader_keeps_its_state_while_another_writes(collection: Collection) -> None:
    twin = Twin()
    twin.add(random_documents(8))
    collection.index(twin.documents.values())
    store = store_of(collection)
    with store.reading() as reader:
        assert reader.document_count() == 8
        collection.remove(["d1"])
        collection.index([document("new", "ant")])
        assert (reader.document_count(), reader.revision(), reader.removed_ids(0)) == (8, 1, [])
    store.close()


@pytest.mark.usefixtures("always_compact")
@pytest.mark.parametrize("change", ["remove", "update", "add"])
def test_an_open_collection_answers_while_another_writes(collection: Collection, change: str) -> None:
    """With the state that it was opened at, or the new one, and never with a mixture."""
    twin = Twin()
    twin.add(random_documents(8))
    collection.index(twin.documents.values())
    with Collection.open(collection.path) as reader:
        old = twin.distances("ant bee")
        nearest = reader.search("ant bee", k=1).hits[0].key
        if change == "remove":
            collection.remove([nearest])
            del twin.documents[nearest]
        else:
            twin.add([document(nearest if change == "update" else "new", "lark")])
            collection.index(twin.documents.values())
        new = twin.distances("ant bee")
        found = {hit.key: hit.distance for hit in reader.search("ant bee", k=20).hits}
        assert any(
            found.keys() == state.keys() and all(math.isclose(found[key], state[key], rel_tol=1e-6) for key in state)
            for state in (old, new)
        )
        if change == "add":
            with pytest.raises(UnknownKey):
                reader.similar("new", k=20)
            reader.refresh()
            assert reader.similar("new", k=20).hits
    with Collection.open(collection.path) as reader:
        check_exact(reader.search("ant bee", k=20), new, 20)


def test_one_collection_sees_its_own_changes(collection: Collection) -> None:
    collection.index([document("a", "ant")])
    assert len(collection.search("bee").hits) == 1
    collection.index([document("b", "bee")])
    assert [hit.key for hit in collection.search("bee").hits] == ["b", "a"]
    collection.remove(["b"])
    assert [hit.key for hit in collection.search("bee").hits] == ["a"]


def test_a_folder_named_vectors_is_nobody_s_leftover(tmp_path: Path, workshop: Workshop) -> None:
    (tmp_path / "vectors").mkdir()
    (tmp_path / "vectors" / "mine.txt").write_text("years of work")
    with pytest.raises(CollectionError, match="holds vectors and no collection"):
        Collection.create(tmp_path, workshop.settings())
    assert (tmp_path / "vectors" / "mine.txt").read_text() == "years of work"


@pytest.mark.usefixtures("always_compact")
def test_an_open_collection_keeps_its_first_stage(collection: Collection) -> None:
    """Another process folds, and the file that candidates come from is gone from its place."""
    collection.index(random_documents(12))
    with Collection.open(collection.path) as reader:
        before = reader.search("ant bee", k=3)
        collection.index(random_documents(20, seed=3))
        found = reader.search("ant bee", k=3, depth=6)
        assert {hit.key for hit in found.hits} <= {f"d{i}" for i in range(12)}
        assert reader.search("ant bee", k=3).hits == before.hits


def test_settings_are_those_of_the_moment(collection: Collection) -> None:
    collection.index(random_documents(4))
    with Collection.open(collection.path) as other:
        collection.change_settings(gamma=0.5)
        other.change_settings(weights="tfidf")
        assert (other.settings.gamma, other.settings.weights) == (0.5, "tfidf")
        collection.refresh()
        assert collection.settings == other.settings


def test_a_collection_that_is_written_to_is_not_discarded(collection: Collection) -> None:
    with FileLock(collection.path / "lock"):
        collection.discard()
    assert Collection.exists(collection.path)


def test_an_unfinished_collection_is_none(tmp_path: Path, workshop: Workshop) -> None:
    (tmp_path / "new-collection.db").write_bytes(b"half")
    assert not Collection.exists(tmp_path)
    with Collection.create(tmp_path, workshop.settings()) as made:
        assert made.info()["documents"] == 0
    assert not (tmp_path / "new-collection.db").exists()


def test_blas_has_one_thread_while_a_collection_is_searched(collection: Collection) -> None:
    def threads() -> list[int]:
        # FAISS's own counts threads for each that calls it.
        return [info["num_threads"] for info in threadpool_info() if info.get("threading_layer") == "pthreads"]

    collection.index([document("a", "ant bee")])
    with single_threaded_blas():
        pass  # loads all that there is
    before = threads()
    collection.search("ant")
    assert set(threads()) == {1}
    collection.close()
    assert threads() == before
