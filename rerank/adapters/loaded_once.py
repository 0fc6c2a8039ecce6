"""An object that is given, or loaded from a path on first use."""

import os
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

_Loaded = TypeVar("_Loaded")


class LoadedOnce(Generic[_Loaded]):
    """`given` itself, or what `load` makes of it if it is a path, once, whichever thread is first.

    Pickled by its path, and loaded again by the process that unpickles it.
    """

    def __init__(self, given: _Loaded | str | os.PathLike[str], load: Callable[[str], _Loaded]) -> None:
        self._given, self._load = given, load
        self._loaded: _Loaded | None = None
        self._lock = Lock()

    def get(self) -> _Loaded:
        """Return the object; raises what `load` raises."""
        given = self._given
        if not isinstance(given, str | os.PathLike):
            return given
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load(os.fspath(given))
            return self._loaded

    def __getstate__(self) -> dict[str, Any]:
        return {"_given": self._given, "_load": self._load}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_given"], state["_load"])  # type: ignore[misc]  # the lock and the loaded object are new
