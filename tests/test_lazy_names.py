"""A package imports the modules of its names when a name is used, and lists names that it has not imported."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

_INIT = """
from typing import TYPE_CHECKING

from moverank.lazy_names import lazy_names

if TYPE_CHECKING:
    from fractions import Fraction as Fraction
    from .circles import area as area
    from .circles import PI as PI
    from lazy_shapes.plugins.solids.cubes import volume as volume
    from lazy_shapes.plugins.removed.knots import unknot as unknot

__all__, __getattr__, __dir__ = lazy_names(globals())
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    folder = tmp_path / "lazy_shapes"
    folder.mkdir()
    (folder / "__init__.py").write_text(_INIT)
    (folder / "circles.py").write_text("PI = 3\n\n\ndef area(r):\n    return PI * r * r\n")
    (folder / "plugins" / "solids").mkdir(parents=True)
    (folder / "plugins" / "solids" / "cubes.py").write_text("def volume(a):\n    return a ** 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("lazy_shapes")]:
        monkeypatch.delitem(sys.modules, name)
    return import_module("lazy_shapes")


def test_a_module_is_imported_when_one_of_its_names_is_used(package: ModuleType) -> None:
    assert "lazy_shapes.circles" not in sys.modules
    assert package.area(2) == 12
    assert package.area is sys.modules["lazy_shapes.circles"].area


def test_a_name_of_another_package_is_that_packages(package: ModuleType) -> None:
    assert package.Fraction is import_module("fractions").Fraction


def test_names_are_listed_before_they_are_imported(package: ModuleType) -> None:
    assert {"area", "PI", "Fraction", "__name__"} <= set(dir(package))
    assert dir(package) == sorted(set(dir(package)))
    assert package.__all__ == ["Fraction", "area", "PI", "volume"]
    assert "lazy_shapes.circles" not in sys.modules


def test_a_plug_in_has_its_names_unless_its_folder_is_removed(package: ModuleType) -> None:
    assert package.volume(2) == 8
    assert "unknot" not in dir(package)
    with pytest.raises(AttributeError, match="module 'lazy_shapes' has no attribute 'unknot'"):
        _ = package.unknot


def test_another_name_is_an_attribute_error_of_the_package(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module 'lazy_shapes' has no attribute 'square'"):
        _ = package.square
