"""The public face: `import moverank` is quick, and every name in it is there and documented."""

import inspect
import subprocess
import sys

import moverank
from moverank import IndexerError, RerankError

HEAVY = ("faiss", "gensim", "numba", "ot", "scipy", "sklearn", "sqlalchemy", "torch", "typer")


def _loaded_by(statement: str) -> set[str]:
    """Return the packages that a fresh interpreter has loaded after a statement."""
    program = f"import sys; {statement}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_every_exported_name_is_there_and_documented() -> None:
    for name in moverank.__all__:
        member = getattr(moverank, name)
        assert not inspect.isclass(member) or inspect.getdoc(member)


def test_every_exported_name_has_a_home() -> None:
    homes = [name for names in moverank._HOMES.values() for name in names]  # noqa: SLF001 - the two lists have to agree
    assert sorted(homes) == sorted(moverank.__all__)
    assert set(moverank.__all__) <= set(dir(moverank))


def test_every_error_is_one_of_the_two_packages() -> None:
    errors = [getattr(moverank, name) for name in moverank.__all__ if name.endswith("Error")]
    assert len(errors) >= 4
    assert all(issubclass(error, RerankError | IndexerError) for error in [*errors, moverank.NoKnownWords])


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    assert not hasattr(moverank, "nothing")


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert not _loaded_by("import moverank") & {*HEAVY, "numpy"}


def test_importing_the_reranker_imports_nothing_heavy() -> None:
    loaded = _loaded_by("from moverank import Reranker")
    assert not loaded & set(HEAVY)
    assert "numpy" in loaded
