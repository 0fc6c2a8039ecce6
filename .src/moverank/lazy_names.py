"""Names of a package that are imported on first use (PEP 562)."""

from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(
    package: dict[str, Any], homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package, whose `globals()` are given.

    `homes`: the names, separated by spaces, by the module that defines them, absolute or relative (`.module`). No name
    may equal the name of a module in the package: importing the module sets an attribute, which hides `__getattr__`.
    """
    name_of_package = package["__name__"]
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def getattr_(name: str) -> Any:
        """Import a name on first use; raise AttributeError for any other name."""
        from importlib import import_module

        if name not in modules:
            raise AttributeError(f"module {name_of_package!r} has no attribute {name!r}")
        value = package[name] = getattr(import_module(modules[name], name_of_package), name)
        return value

    def dir_() -> list[str]:
        """List the names, imported or not."""
        return sorted({*package, *modules})

    return getattr_, dir_
