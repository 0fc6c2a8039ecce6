"""Encoders, scorers and operations by name: built-in classes, and those of plug-ins, found by entry points.

A package declares `[project.entry-points."moverank.encoders"]`, for example, with `NAME = "module:Class"`. Nothing is
loaded until a class is named.
"""

import sys
from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

from moverank.rerank.entry_points import EntryPoint, entry_points, loaded
from moverank.rerank.options import Option, check_options, did_you_mean

_Kind = TypeVar("_Kind")


class PlugIns(Generic[_Kind]):
    """The classes of one kind: the `built_in` ones by name, and those that plug-ins and other packages provide.

    `what` is the name of the kind, "encoder"; the group of its entry points is then `moverank.encoders`. A built-in
    class that is given as `module:Class` is imported on first use; None stands for a class of a plug-in of moverank,
    whose folder may have been removed. No other package provides a class of a name of moverank's. A class of an entry
    point must have the named `methods` and `attributes`; the attribute called `named` is the name of its entry point.
    `contract` names the contract in errors. `error` is raised for an unusable class.
    """

    def __init__(
        self,
        what: str,
        built_in: Mapping[str, str | type[_Kind] | None],
        methods: tuple[str, ...],
        error: type[Exception],
        attributes: tuple[str, ...] = (),
        *,
        named: str = "name",
        contract: str = "",
    ) -> None:
        self._what, self._built_in, self._methods = what, built_in, methods
        self._error: Any = error
        self._attributes, self._named = attributes, named
        self._contract = contract or f"moverank.testing.check_{what}"
        self._loaded: dict[str, type[_Kind]] = {}

    def has(self, name: str) -> bool:
        """Return whether there is a class of that name."""
        return self._built_in.get(name) is not None or name in self._found()

    def of(self, name: str) -> type[_Kind]:
        """Return the class of that name; no package replaces a built-in one.

        Raises the error for an unknown name, and for a class that cannot be loaded.
        """
        own = self._built_in.get(name)
        if isinstance(own, str):
            own = cast("type[_Kind]", loaded(own))
        found: type[_Kind] | None = own or self.named(name)
        if found is None:
            names = self.names()
            choice = f"choose {', '.join(names)}, or " if names else ""
            raise self._error(
                f"there is no {self._what} {name!r}{did_you_mean(name, names)}: {choice}install the package that "
                "provides it"
            )
        return found

    def choose(self, name: str, options: Mapping[str, str]) -> type[_Kind]:
        """Return the class of that name, and validate the `options` of its `fit`.

        Raises the error for an unknown name, an unknown option and an invalid value, before any document is read.
        """
        found = self.of(name)
        known: Any = found
        check_options(name, known.options, options, self._error)
        return found

    def names(self) -> tuple[str, ...]:
        """Return all names: the package's own ones in their order, and those of others; no class is loaded."""
        named = self._found()
        own = (name for name, built_in in self._built_in.items() if built_in is not None or name in named)
        return (*own, *sorted(named - self._built_in.keys()))

    def named(self, name: str) -> type[_Kind] | None:
        """Load the class that an entry point of that name provides; None if there is none.

        Raises the error, which names the package, if the class cannot be loaded or is of another kind, or if several
        packages provide one.
        """
        if name in self._loaded:
            return self._loaded[name]
        points = list(dict.fromkeys(point for point in self._points() if point.name == name))
        if not points:
            return None
        if len(points) > 1:
            packages = " and ".join(sorted(point.package for point in points))
            raise self._error(f"the {self._what} {name!r} is provided by {packages}: uninstall all but one")
        self._loaded[name] = self._checked(points[0])
        return self._loaded[name]

    def _points(self) -> list[EntryPoint]:
        """Return the entry points, without those of other packages for names of moverank's own classes."""
        points = entry_points(f"moverank.{self._what}s", tuple(sys.path))
        own = {*self._built_in, *(point.name for point in points if point.is_own)}
        return [point for point in points if point.is_own or point.name not in own]

    def _found(self) -> set[str]:
        """Return the names of the entry points."""
        return {point.name for point in self._points()}

    def _checked(self, point: EntryPoint) -> type[_Kind]:
        """Load the class of an entry point."""

        def fault(what: str) -> Exception:
            error: Exception = self._error(f"the {self._what} {point.name!r} of the package {point.package} {what}")
            return error

        try:
            found: Any = point.load()
        except Exception as error:  # its module may raise anything
            raise fault(f"cannot be loaded: {type(error).__name__}: {error}") from error
        missing = [f"method {name}" for name in self._methods if not callable(getattr(found, name, None))]
        missing += [f"attribute {name}" for name in self._attributes if not hasattr(found, name)]
        if not isinstance(found, type) or missing:
            lacks = f"no class with the {missing[0]}" if missing else "no class"
            raise fault(f"is {lacks} ({point.value}): see {self._contract}")
        if (own := getattr(found, self._named, None)) != point.name:
            raise fault(f"has another name, {own!r}: both must be the same")
        options = getattr(found, "options", None) if "fit" in self._methods else ()
        if not isinstance(options, tuple) or not all(isinstance(option, Option) for option in options):
            raise fault(f"needs a tuple of options (moverank.rerank.options): {options!r} is none")
        kind: type[_Kind] = found
        return kind
