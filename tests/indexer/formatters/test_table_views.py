from moverank.indexer.evaluation.result_table import Table, Value
from moverank.indexer.formatters.table_views import table_csv, table_object, table_view
from tests.indexer.formatters.samples import MALICIOUS, printed


def test_a_table_as_text_csv_and_json() -> None:
    rows: tuple[dict[str, Value], ...] = (
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
