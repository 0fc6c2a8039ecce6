"""Postponed modules are loaded when they are first used, and are what they would have been."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from moverank.rerank.runtime.lazy_import import lazy_import

LATE = "import told\ntold.names.append(__name__)\nvalue = 7\n"


@pytest.fixture(autouse=True)
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package_of_two"
    package.mkdir()
    (tmp_path / "told.py").write_text("names = []\n")
    (package / "__init__.py").write_text("from . import late\n")
    (package / "late.py").write_text(LATE)
    (package / "other.py").write_text(LATE)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("told", "package_of_two", "package_of_two.late", "package_of_two.other"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_a_postponed_module_is_loaded_when_it_is_used() -> None:
    finders = list(sys.meta_path)
    with lazy_import("package_of_two.late"):
        package = importlib.import_module("package_of_two")
        told = importlib.import_module("told")
        assert told.names == []
        importlib.import_module("package_of_two.other")
        assert told.names == ["package_of_two.other"]
    assert sys.meta_path == finders
    assert package.late.value == 7
    assert importlib.import_module("package_of_two.late").value == 7
    assert told.names == ["package_of_two.other", "package_of_two.late"]


def test_what_is_not_there_is_not_found() -> None:
    with lazy_import("package_of_two.nowhere"), pytest.raises(ModuleNotFoundError, match="nowhere"):
        importlib.import_module("package_of_two.nowhere")


def test_the_first_distance_waits_neither_for_statistics_nor_loses_pot_s_data_sets() -> None:
    code = """if True:
        import sys
        import numpy as np
        from moverank.rerank.distance.transport import solve
        assert "ot" not in sys.modules
        assert solve(np.ones(1), np.ones(1), np.ones((1, 1))).distance == 1
        import ot
        assert "scipy.stats" not in sys.modules, "POT imports it elsewhere now"
        assert ot.datasets.make_1D_gauss(9, 4, 1).shape == (9,)
        from ot.datasets import make_2D_samples_gauss
        assert make_2D_samples_gauss(5, [0, 0], np.eye(2)).shape == (5, 2)
    """
    # Where scikit-learn is installed, POT imports it, and that scipy.stats: as if it were not.
    absent = "import sys; sys.modules['sklearn'] = sys.modules['sklearn.cluster'] = None\n"
    done = subprocess.run([sys.executable, "-c", absent + code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
