"""Makes a golden collection: `python tests/golden/make.py VERSION`, once for each release that changes what is stored.

What comes of it is committed and never made again: later versions have to open it (tests/golden/test_golden.py).
"""

import json
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection
from moverank.indexer.snapshot import compaction
from tests.indexer.world import Workshop, document, random_documents

HERE = Path(__file__).parent
QUERIES = ("ant bee cat", "gnu", "jay kiwi dog")


def answers(collection: Collection) -> dict[str, list[list[object]]]:
    """Return keys, titles and distances of what a collection finds."""
    found: dict[str, list[list[object]]] = {}
    for query in QUERIES:
        hits = collection.search(query, k=50).hits
        found[query] = [[hit.key, hit.title, hit.label, round(hit.distance, 6)] for hit in hits]
    return found


def main(version: str) -> None:
    """Make the collection and what it has to answer."""
    compaction.SMALL_TAIL = 0
    made = [
        document(
            found.key,
            found.parts[0].text,
            "ant zorp",
            title=f"T{i}",
            label="xy"[i % 2],
            metadata={"n": i, "tags": ["a"]},
        )
        for i, found in enumerate(random_documents(30))
    ]
    with TemporaryDirectory() as name:
        workshop = Workshop(Path(name))
        with Collection.create(Path(name) / "golden", workshop.settings(gamma=0.75)) as collection:
            collection.index(made)
            compaction.SMALL_TAIL = 256
            collection.index([document("d3", "bee", title="changed")])
            collection.remove(["d7"])
            told = answers(collection)
        with tarfile.open(HERE / f"collection-{version}.tar.xz", "w:xz") as archive:
            archive.add(Path(name) / "golden", "golden")
    (HERE / f"answers-{version}.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
