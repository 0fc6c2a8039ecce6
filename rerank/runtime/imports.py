"""Load one extension module of a package without executing the package, which may import far more."""

import sys
from collections.abc import Mapping
from functools import cache
from importlib.machinery import ExtensionFileLoader, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from threading import Lock
from types import ModuleType

_MEANWHILE = "_moverank_alone"  # the package's name while it loads: other threads that import it meet no stand-in
_lock = Lock()  # other threads must not get a half-initialised module


def load_alone(name: str, stand_ins: Mapping[str, ModuleType]) -> ModuleType:
    """Return the extension module `name` ("package.room.module"); if its package is not imported, load it alone.

    `stand_ins` replace other modules of the package, by their names within it, that the extension imports relatively. A
    later import of the package gets the same module, stand-ins included, because an extension is initialised once in a
    process. Raises ImportError if there is no such extension; one that has changed may raise anything.
    """
    with _lock:
        return sys.modules.get(name) or _loaded_alone(name, tuple(stand_ins.items()))


@cache
def _loaded_alone(name: str, stand_ins: tuple[tuple[str, ModuleType], ...]) -> ModuleType:
    package, _, within = name.partition(".")
    spec = spec_from_file_location(f"{_MEANWHILE}.{within}", _file_of(name))
    if spec is None or spec.loader is None:
        raise ImportError(f"{name} cannot be loaded", name=name)
    temporary = {f"{_MEANWHILE}.{module}": stand_in for module, stand_in in stand_ins}
    sys.modules.update(temporary)
    try:
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        for temporary_name in (*temporary, name):  # Cython registers a module by the name that it was compiled for
            sys.modules.pop(temporary_name, None)
    module.__name__, module.__package__ = name, name.rpartition(".")[0] or package
    return module


def _file_of(name: str) -> str:
    """Return the file of an extension module, found without importing its packages."""
    places, origin, loader = None, None, None
    for part in name.split("."):
        spec = PathFinder.find_spec(part, places)
        if spec is None:
            raise ImportError(f"there is no module {name}", name=name)
        places, origin, loader = list(spec.submodule_search_locations or ()), spec.origin, spec.loader
    if origin is None or not isinstance(loader, ExtensionFileLoader):
        raise ImportError(f"{name} is no extension module", name=name)
    return origin
