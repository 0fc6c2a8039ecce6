"""The public face: importing it is fast, and every name in it exists and is documented."""

import inspect
import subprocess
import sys

import moverank
from moverank import IndexerError, RerankError

HEAVY = ("faiss", "gensim", "numba", "ot", "scipy", "sklearn", "sqlalchemy", "torch", "typer")


def _loaded_by(statement: str) -> set[str]:
    """Return the top-level packages that a new interpreter has loaded after a statement."""
    program = f"import sys; {statement}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(completed.stdout.split())


def test_every_exported_name_exists_and_is_documented() -> None:
    for name in moverank.__all__:
        member = getattr(moverank, name)
        assert not inspect.isclass(member) or inspect.getdoc(member)


def test_every_exported_name_has_a_module() -> None:
    names = [name for names in moverank._HOMES.values() for name in names]  # noqa: SLF001 - the two lists must agree
    assert sorted(names) == sorted(moverank.__all__)
    assert set(moverank.__all__) <= set(dir(moverank))


def test_every_error_has_one_of_the_two_base_classes() -> None:
    errors = [getattr(moverank, name) for name in moverank.__all__ if name.endswith("Error")]
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
