"""Queries over all rows."""

import pytest

from moverank.indexer.store import Store


def test_only_sqlite_is_checked_by_pragmas(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with store.auditing() as auditor:
        assert auditor.faults() == []
        monkeypatch.setattr(auditor.rows, "shared", True)
        assert auditor.faults() == []
