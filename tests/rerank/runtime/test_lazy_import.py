"""Lazily imported modules are executed on first use, completely."""

import importlib
import sys
from pathlib import Path

import pytest

from moverank.rerank.runtime.lazy_import import lazy_import

LATE = "import executed\nexecuted.names.append(__name__)\nvalue = 7\n"


@pytest.fixture(autouse=True)
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package_of_two"
    package.mkdir()
    (tmp_path / "executed.py").write_text("names = []\n")
    (package / "__init__.py").write_text("from . import late\n")
    (package / "late.py").write_text(LATE)
    (package / "other.py").write_text(LATE)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("executed", "package_of_two", "package_of_two.late", "package_of_two.other"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_a_lazy_module_is_executed_on_first_use() -> None:
    finders = list(sys.meta_path)
    with lazy_import("package_of_two.late"):
        package = importlib.import_module("package_of_two")
        executed = importlib.import_module("executed")
        assert executed.names == []
        importlib.import_module("package_of_two.other")
        assert executed.names == ["package_of_two.other"]
    assert sys.meta_path == finders
    assert package.late.value == 7
    assert importlib.import_module("package_of_two.late").value == 7
    assert executed.names == ["package_of_two.other", "package_of_two.late"]


def test_a_missing_module_raises() -> None:
    with lazy_import("package_of_two.nowhere"), pytest.raises(ModuleNotFoundError, match="nowhere"):
        importlib.import_module("package_of_two.nowhere")
