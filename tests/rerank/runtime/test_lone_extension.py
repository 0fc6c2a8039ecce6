"""Extension modules loaded without their packages; `tests.rerank.distance.test_network_simplex` loads a real one."""

import pytest

from moverank.rerank.runtime.lone_extension import load_alone


@pytest.mark.parametrize("name", ["nowhere.room.solver", "ot.nowhere.solver", "ot.lp.nowhere"])
def test_a_missing_extension_is_an_import_error(name: str) -> None:
    with pytest.raises(ImportError, match=f"there is no module {name}"):
        load_alone(name, {})


def test_a_module_that_is_no_extension_is_an_import_error() -> None:
    with pytest.raises(ImportError, match="is no extension module"):
        load_alone("wsgiref.simple_server", {})
