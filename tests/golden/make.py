"""Makes a golden collection: `python tests/golden/make.py VERSION`, once for each release that changes what is stored.

The result is committed and never made again: later versions have to open it (tests/golden/test_golden.py).
"""

import json
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection
from moverank.indexer.snapshot import compaction
from tests.indexer.world import CollectionFactory, document, random_documents

DIRECTORY = Path(__file__).parent
QUERIES = ("ant bee cat", "gnu", "jay kiwi dog")


def results(collection: Collection) -> dict[str, list[list[object]]]:
    """Return key, title, label and distance of the hits of each query."""
    return {
        query: [[hit.key, hit.title, hit.label, round(hit.distance, 6)] for hit in collection.search(query, k=50).hits]
        for query in QUERIES
    }


def main(version: str) -> None:
    """Make the collection, with a snapshot, a tail and removed documents, and the results that it must give."""
    compaction.SMALL_TAIL = 0
    documents = [
        document(
            one.key,
            *(part.text for part in one.parts),
            title=f"T{i}",
            label="xy"[i % 2],
            metadata={"n": i, "tags": ["a"]},
        )
        for i, one in enumerate(random_documents(30, "ant zorp"))
    ]
    with TemporaryDirectory() as name:
        factory = CollectionFactory(Path(name))
        with Collection.create(Path(name) / "golden", factory.settings(gamma=0.75)) as collection:
            collection.index(documents)
            compaction.SMALL_TAIL = 256
            collection.index([document("d3", "bee", title="changed")])
            collection.remove(["d7"])
            expected = results(collection)
        with tarfile.open(DIRECTORY / f"collection-{version}.tar.xz", "w:xz") as archive:
            archive.add(Path(name) / "golden", "golden")
    (DIRECTORY / f"answers-{version}.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
