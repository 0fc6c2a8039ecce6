"""Extension modules loaded without their packages; `tests.rerank.distance.test_network_simplex` loads a real one."""

from pathlib import Path

import pytest

from moverank.rerank.runtime.imports import load_alone


@pytest.mark.parametrize("name", ["nowhere.room.solver", "ot.nowhere.solver", "ot.lp.nowhere"])
def test_a_missing_extension_is_an_import_error(name: str) -> None:
    with pytest.raises(ImportError, match=f"there is no module {name}"):
        load_alone(name, {})


def test_a_module_that_is_no_extension_is_an_import_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "package_of_python").mkdir()
    (tmp_path / "package_of_python" / "solver.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match="is no extension module"):
        load_alone("package_of_python.solver", {})
