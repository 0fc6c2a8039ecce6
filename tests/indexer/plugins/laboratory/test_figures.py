import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from moverank.indexer.errors import IndexerError, UsageError
from moverank.indexer.plugins.laboratory.method import Figure, Table
from moverank.indexer.plugins.laboratory.tables import draw

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
    draw(table, tmp_path / "figure.svg")
    drawn = (tmp_path / "figure.svg").read_text()
    assert drawn.startswith("<?xml")
    assert drawn.count("<path") > 5


def svg(table: Table, path: Path) -> ElementTree.Element:
    """Return the figure of a table as matplotlib writes it: a group for each artist, text as comments."""
    pytest.importorskip("matplotlib", reason="needs matplotlib, of the extra plot")
    draw(table, path)
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))  # noqa: S314 - our own file
    return ElementTree.parse(path, parser).getroot()  # noqa: S314 - our own file


def box(figure: ElementTree.Element, group: str) -> tuple[float, float, float, float]:
    """Return the least and the largest x, and the same of y, of the first path in a group."""
    path = figure.find(f".//*[@id='{group}']//{{*}}path")
    assert path is not None
    numbers = [float(number) for number in re.findall(r"-?\d+\.?\d*", path.attrib["d"])]
    return min(numbers[::2]), max(numbers[::2]), min(numbers[1::2]), max(numbers[1::2])


def text_of(figure: ElementTree.Element) -> list[str]:
    return [(one.text or "").strip() for one in figure.iter() if callable(one.tag)]


@pytest.mark.parametrize("name", ["m{}", "wmd:mu={},weights=tfidf+0.5*cover+2*bm25:k1=1.6,stem=english+cosine"])
def test_lines_of_many_methods_differ_and_the_legend_is_beside_them(name: str, tmp_path: Path) -> None:
    rows: list[dict[str, Figure]] = [
        {"method": name.format(i), "recall@1": i / 25, "recall@5": i / 24} for i in range(24)
    ]
    figure = svg(Table("retrieval", tuple(rows), {}), tmp_path / "figure.svg")
    lines = [figure.find(f".//*[@id='axes_1']/*[@id='line2d_{i}']/{{*}}path") for i in range(1, 200)]
    styles = [line.attrib["style"] for line in lines if line is not None]
    assert len([style for style in styles if "stroke-width: 1.5" in style]) == 24
    assert len(set(styles)) == 24
    _, right, _, bottom = box(figure, "patch_2")  # the axes
    left, _, top, _ = box(figure, "legend_1")
    assert left > right or top > bottom
    assert {row["method"] for row in rows} <= set(text_of(figure))


def test_gamma_has_an_axis(tmp_path: Path) -> None:
    names = [f"pwmd:gamma={gamma},weights={weights}" for weights in ("tf", "tfidf") for gamma in (0, 1)]
    rows: list[dict[str, Figure]] = [{"method": name, "map": i / 9} for i, name in enumerate([*names, "chosen"])]
    table = Table("retrieval", tuple(rows), {"grid": [0.0, 1.0]}, higher=("map",))
    shown = text_of(svg(table, tmp_path / "figure.svg"))
    assert {"gamma", "map", "weights tf", "weights tfidf", "chosen on other queries"} <= set(shown)


def test_random_choice_does_not_flatten_the_bars(tmp_path: Path) -> None:
    random: dict[str, Figure] = {"method": "random", "error": 0.9, "deviation": 0.0}
    shown = text_of(svg(Table("knn", (random, *TABLES[1].rows), {}), tmp_path / "figure.svg"))
    assert "test error % (random: 90.0)" in shown
    assert {"wmd", "bow"} <= set(shown)
    ticks = [float(text) for text in shown if re.fullmatch(r"\d+(\.\d+)?", text)]
    assert 20 <= max(ticks) <= 30


def test_tables_without_a_figure_and_unknown_formats_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs matplotlib, of the extra plot")
    with pytest.raises(UsageError, match="there is no figure of multilabel"):
        draw(Table("multilabel", (), {}), tmp_path / "figure.svg")
    with pytest.raises(UsageError, match="name a figure"):
        draw(TABLES[0], tmp_path / "figure.xyz")
    with pytest.raises(UsageError, match="a recall curve needs measures"):
        draw(Table("retrieval", ({"method": "wmd", "map": 0.4},), {}), tmp_path / "figure.svg")
    with pytest.raises(IndexerError, match="cannot be written"):
        draw(TABLES[0], tmp_path / "nowhere" / "figure.svg")


def test_without_matplotlib_the_error_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(IndexerError, match=r"pip install 'moverank\[plot\]'"):
        draw(TABLES[0], tmp_path / "figure.svg")
