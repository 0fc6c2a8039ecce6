import re

import pytest

from moverank.indexer.plugins.laboratory.method import Figure, Table
from moverank.indexer.plugins.laboratory.tables import table_csv, table_object, table_view
from tests.indexer.formatters.samples import MALICIOUS, printed


def test_a_table_as_text_csv_and_json() -> None:
    rows: tuple[dict[str, Figure], ...] = (
        {"method": "bow", "map": 0.25, "p": None},
        {"method": MALICIOUS, "map": 0.5, "p": 0.125},
    )
    facts = {"documents": 1234, "clean": False, "chosen": {"bow": 3, "wmd:weights=tfidf": 1200}}
    table = Table("retrieval", rows, facts, ("two queries are alike",), higher=("map",))
    text = printed(table_view(table))
    assert "documents 1,234, clean no, chosen bow for 3 and wmd:weights=tfidf for 1,200" in text
    assert "Note: two queries are alike." in text
    assert "\x1b" not in text
    assert "0.2500" in text.splitlines()[1]
    assert table_csv(table).splitlines()[1] == "bow,0.25,"
    assert table_object(table)["chosen"] == facts["chosen"]


@pytest.mark.parametrize("width", [30, 60, 80, 120, 200])
def test_no_figure_and_no_name_is_cut(width: int) -> None:
    """Names that have no place are in a legend, figures below the others; whatever is printed can be joined again."""
    names = ["bm25", "bm25:stem=english", *(f"wmd:mu={i},weights=tfidf+0.5*cover+2*bm25:k1=1.6" for i in range(30))]
    measures = ["map", "rprec", "mrr", "ndcg@10", "p@10", "recall@1", "recall@5", "recall@10", "recall@100", "p_bm25"]
    figures = [{name: (10 * i + j) / 1000 for j, name in enumerate(measures)} for i in range(len(names))]
    rows: list[dict[str, Figure]] = [{"method": name, **own} for name, own in zip(names, figures, strict=True)]
    text = printed(table_view(Table("retrieval", tuple(rows), {})), width)
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    legend = dict(re.findall(r"^\[(\w+)\] +(\S+(?: *\n +\S+)*) *$", text, re.MULTILINE))
    found = dict[str, list[str]]()
    for line in text.splitlines():
        name, *cells = line.split() or [""]
        if cells and all(re.fullmatch(r"0\.\d{4}", cell) for cell in cells):
            found.setdefault(legend.get(name.strip("[]"), name), []).extend(cells)
    shown = {re.sub(r"\s+", "", name): cells for name, cells in found.items()}
    assert shown == {
        name: [f"{figure:.4f}" for figure in own.values()] for name, own in zip(names, figures, strict=True)
    }
    assert ("[ab]" in text) == (width < 200)
