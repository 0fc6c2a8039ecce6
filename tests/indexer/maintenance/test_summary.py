"""Sizes, revision and settings of a collection."""

from moverank import Settings
from tests.indexer.world import MakeCollection, document


def test_the_summary_has_sizes_revision_and_settings(make_collection: MakeCollection) -> None:
    collection = make_collection(gamma=0.5)
    collection.index(
        [document("a", "ant zorp", "bee", label="red", metadata={"year": 1}), document("b", "ant of"), document("c")]
    )
    collection.remove(["b"])
    info = collection.info()
    sizes = {"documents": 2, "parts": 2, "wordless": 1, "words": 3, "known_words": 2, "coverage": 2 / 3, "revision": 2}
    assert {name: info[name] for name in sizes} == sizes
    assert (info["fields"], info["dim"], info["vectors"]) == (["label", "year"], 4, 12)
    assert (info["gamma"], info["weights"], info["stop_words"], info["faiss"]) == (0.5, "tf", 2, "auto")
    assert info["faiss_in_use"] is None
    assert (info["rank"], info["ranking"]) == ("", "pwmd")
    assert info["bytes"] > sum(file.stat().st_size for file in collection.path.glob("collection.db"))
    more = {
        "fields",
        "dim",
        "vectors",
        "bytes",
        "faiss_in_use",
        "given_vectors",
        "given_dim",
        "coverage_by",
    }
    assert set(info) == set(Settings().stored()) | set(sizes) | more | {"ranking"}
