import pytest

from moverank import Collection, UsageError
from moverank.indexer.plugins.laboratory.evaluating import BoundsExperiment
from tests.indexer.world import MakeCollection, document


def test_bounds_become_tighter_down_to_the_exact_distance(indexed: Collection) -> None:
    table, depths = (BoundsExperiment(sample=5, depths=depths).run(indexed.path) for depths in (False, True))
    rows = {row["bound"]: row for row in table.rows}
    loose = [float(rows[name]["tightness"] or 0) for name in ("wcd", "rwmd", "dual", "sinkhorn", "wmd")]
    assert loose[1:] == sorted(loose[1:])
    assert 0 < loose[0] < 1
    assert loose[-1] == rows["wmd"]["true 10 in 10"] == 1
    assert float(rows["rwmd_query"]["tightness"] or 0) <= loose[1]
    assert "error" not in rows["wmd"]  # not every document has a label
    assert depths.rows[-1]["recall"] == 1
    assert [row["m"] for row in depths.rows] == [10, 12]


def test_labelled_documents_have_an_error(make_collection: MakeCollection) -> None:
    collection = make_collection()
    words = ["ant bee", "bee cat", "cat dog", "dog elk"]
    collection.index([document(f"d{i}", words[i % 4], f"jay {words[i % 3]}", label="ab"[i % 2]) for i in range(14)])
    chosen = (BoundsExperiment(sample=14, gamma=0.75, depths=depths) for depths in (False, True))
    table, depths = (each.run(collection.path) for each in chosen)
    assert all(0 <= float(row["error"] or 0) <= 1 for row in [*table.rows, *depths.rows])
    assert table.facts["gamma"] == 0.75


def test_too_few_documents_are_refused(make_collection: MakeCollection) -> None:
    collection = make_collection()
    collection.index([document("d", "cat dog")])
    with pytest.raises(UsageError, match="more than 10 documents"):
        BoundsExperiment().run(collection.path)
