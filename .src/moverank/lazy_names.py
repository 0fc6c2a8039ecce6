"""Names of a package that are imported on first use (PEP 562)."""

from collections.abc import Callable
from importlib import import_module
from os.path import isdir, join
from typing import Any


def lazy_names(package: dict[str, Any]) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package, whose `globals()` are given.

    The names are those that its source imports for type checkers by lines `from MODULE import NAME as NAME`, without
    those of plug-ins whose folders were removed. No name may equal the name of a module in the package: importing the
    module sets an attribute, which hides `__getattr__`.
    """
    name_of_package = package["__name__"]
    source = package["__loader__"].get_data(package["__file__"]).decode()  # `get_source` would import `tokenize`
    lines = [line.split() for line in source.splitlines()]
    imports = [line for line in lines if line[:1] == ["from"] and line[4:] == ["as", line[3]]]
    modules = {name: module for _, module, _, name, *_ in imports if _is_there(module, package["__path__"][0])}

    def getattr_(name: str) -> Any:
        """Import a name on first use; raise AttributeError for any other name."""
        if name not in modules:
            raise AttributeError(f"module {name_of_package!r} has no attribute {name!r}")
        value = package[name] = getattr(import_module(modules[name], name_of_package), name)
        return value

    def dir_() -> list[str]:
        """List the names, imported or not."""
        return sorted({*package, *modules})

    return list(modules), getattr_, dir_


def _is_there(module: str, folder: str) -> bool:
    """Return whether a module may be there, in the `folder` of its package: that of a plug-in may have been removed."""
    _, *parts = module.split(".")
    return "plugins" not in parts or isdir(join(folder, *parts[:-1]))  # noqa: PTH112, PTH118 - pathlib is slow to import
