"""The public face: importing it is fast, and every name in it exists and is documented."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import pytest

import moverank
from moverank import IndexerError, RerankError
from moverank.indexer import store

EXPORTED: list[str] = vars(moverank)["__all__"]  # which type checkers do not compute
HEAVY = ("faiss", "gensim", "numba", "ot", "scipy", "sklearn", "sqlalchemy", "torch", "typer")


def _loaded_by(statement: str) -> set[str]:
    """Return the top-level packages that a new interpreter has loaded after a statement."""
    program = f"import sys; {statement}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(completed.stdout.split())


def test_every_exported_name_exists_and_is_documented() -> None:
    for name in EXPORTED:
        member = getattr(moverank, name)
        assert not inspect.isclass(member) or inspect.getdoc(member)


@pytest.mark.parametrize("package", [moverank, store])
def test_every_name_that_type_checkers_import_is_imported_on_first_use(package: ModuleType) -> None:
    """In any form that ruff may give to an import; without those of plug-ins whose folders are removed."""
    imports = [node for node in ast.walk(ast.parse(inspect.getsource(package))) if isinstance(node, ast.ImportFrom)]
    there = [node for node in imports if node.module and find_spec(node.module.rpartition(".")[0] or node.module)]
    typed = {name.asname: node.module for node in there for name in node.names if name.asname == name.name}
    assert sorted(map(str, typed)) == sorted(vars(package)["__all__"])
    for name, module in typed.items():
        assert getattr(package, str(name)) is getattr(import_module(str(module)), str(name))


def test_a_star_import_has_every_exported_name() -> None:
    names = dict[str, object]()
    exec("from moverank import *", names)  # noqa: S102 - a star import is allowed at the top of a module only
    assert set(EXPORTED) == names.keys() - {"__builtins__"}


def test_every_error_has_one_of_the_two_base_classes() -> None:
    errors = [getattr(moverank, name) for name in EXPORTED if name.endswith("Error")]
    assert len(errors) >= 4
    assert all(issubclass(error, RerankError | IndexerError) for error in [*errors, moverank.NoKnownWords])


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(moverank, "nothing")


def test_importing_the_package_loads_no_heavy_library() -> None:
    assert not _loaded_by("import moverank") & {*HEAVY, "numpy"}


def test_importing_the_reranker_loads_numpy_only() -> None:
    loaded = _loaded_by("from moverank import Reranker")
    assert not loaded & set(HEAVY)
    assert "numpy" in loaded
