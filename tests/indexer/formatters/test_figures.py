from pathlib import Path

import pytest

from moverank.indexer.errors import IndexerError, UsageError
from moverank.indexer.evaluation.result_table import Table
from moverank.indexer.formatters.figures import draw

TABLES = [
    Table("retrieval", ({"method": "wmd", "recall@1": 0.4, "recall@5": 0.7},), {}),
    Table(
        "knn",
        ({"method": "wmd", "error": 0.1, "deviation": 0.01}, {"method": "bow", "error": 0.2, "deviation": 0.0}),
        {},
    ),
    Table("bounds", ({"bound": "wcd", "tightness": 0.5, "true 10 in 10": 0.3},), {}),
    Table(
        "prefetch and prune", ({"m": 10, "recall": 0.5, "solved": 10.0}, {"m": 100, "recall": 1.0, "solved": 12.5}), {}
    ),
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_has_its_figure(table: Table, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib, of the extra plot")
    draw([table], tmp_path / "figure.svg")
    drawn = (tmp_path / "figure.svg").read_text()
    assert drawn.startswith("<?xml")
    assert drawn.count("<path") > 5


def test_tables_without_a_figure_and_unknown_formats_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib, of the extra plot")
    with pytest.raises(UsageError, match="there is no figure of multilabel"):
        draw([Table("multilabel", (), {})], tmp_path / "figure.svg")
    with pytest.raises(UsageError, match="name a figure"):
        draw([TABLES[0]], tmp_path / "figure.xyz")
    with pytest.raises(UsageError, match="a recall curve needs measures"):
        draw([Table("retrieval", ({"method": "wmd", "map": 0.4},), {})], tmp_path / "figure.svg")
    with pytest.raises(IndexerError, match="cannot be written"):
        draw([TABLES[0]], tmp_path / "nowhere" / "figure.svg")


def test_without_matplotlib_the_error_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(IndexerError, match=r"pip install 'moverank\[plot\]'"):
        draw([TABLES[0]], tmp_path / "figure.svg")
