"""Classes of other packages, found by their entry points: encoders, scorers and operations.

A package declares `[project.entry-points."moverank.encoders"]`, for example, with `NAME = "module:Class"`. Nothing is
loaded until a class is named.
"""

import sys
from typing import Any, Generic, TypeVar

from moverank.rerank.entry_points import EntryPoint, entry_points, names
from moverank.rerank.options import Option

_Kind = TypeVar("_Kind")


class PlugIns(Generic[_Kind]):
    """The classes of one kind that other packages provide.

    `what` is the name of the kind, "encoder"; the group of its entry points is then `moverank.encoders`. A class must
    have the named `methods` and `attributes`, of which that called `named` is the name of its entry point; `contract`
    is where its author reads more. `error` is raised for an unusable class.
    """

    def __init__(
        self,
        what: str,
        methods: tuple[str, ...],
        error: type[Exception],
        attributes: tuple[str, ...] = (),
        *,
        named: str = "name",
        contract: str = "",
    ) -> None:
        self._what, self._methods, self._error, self._attributes = what, methods, error, attributes
        self._named, self._contract = named, contract or f"moverank.testing.check_{what}"
        self._loaded: dict[str, type[_Kind]] = {}

    def names(self) -> tuple[str, ...]:
        """Return the names that other packages provide; none of them is loaded."""
        return names(self._what)

    def named(self, name: str) -> type[_Kind] | None:
        """Load the class of that name; None if no package provides one.

        Raises the error, which names the package, if the class cannot be loaded or is of another kind, or if several
        packages provide one.
        """
        if name in self._loaded:
            return self._loaded[name]
        named = [point for point in self._points() if point.name == name]
        points = list({(point.value, point.package): point for point in named}.values())
        if not points:
            return None
        if len(points) > 1:
            packages = " and ".join(sorted(point.package for point in points))
            raise self._error(f"the {self._what} {name!r} is provided by {packages}: uninstall all but one")
        self._loaded[name] = self._checked(points[0])
        return self._loaded[name]

    def _points(self) -> tuple[EntryPoint, ...]:
        return entry_points(f"moverank.{self._what}s", tuple(sys.path))

    def _checked(self, point: EntryPoint) -> type[_Kind]:
        """Load the class of an entry point."""
        where = f"the {self._what} {point.name!r} of the package {point.package}"
        try:
            found: Any = point.load()
        except Exception as error:  # its module may raise anything
            raise self._error(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
        missing = [f"method {name}" for name in self._methods if not callable(getattr(found, name, None))]
        missing += [f"attribute {name}" for name in self._attributes if not hasattr(found, name)]
        if not isinstance(found, type) or missing:
            lacks = f"no class with the {missing[0]}" if missing else "no class"
            raise self._error(f"{where} is {lacks} ({point.value}): see {self._contract}")
        if (own := getattr(found, self._named, None)) != point.name:
            raise self._error(f"{where} has another name, {own!r}: both must be the same")
        options = getattr(found, "options", ())
        if not isinstance(options, tuple) or not all(isinstance(option, Option) for option in options):
            raise self._error(f"{where} needs a tuple of options (moverank.rerank.options): {options!r} is none")
        kind: type[_Kind] = found
        return kind
