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

__all__, __getattr__, __dir__ = lazy_names(globals())
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    folder = tmp_path / "lazy_shapes"
    folder.mkdir()
    (folder / "__init__.py").write_text(_INIT)
    (folder / "circles.py").write_text("PI = 3\n\n\ndef area(r):\n    return PI * r * r\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("lazy_shapes", "lazy_shapes.circles"):
        monkeypatch.delitem(sys.modules, name, raising=False)
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
    assert package.__all__ == ["Fraction", "area", "PI"]
    assert "lazy_shapes.circles" not in sys.modules


def test_another_name_is_an_attribute_error_of_the_package(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match="module 'lazy_shapes' has no attribute 'square'"):
        _ = package.square
