"""Encoders and scorers by name: built-in classes, and classes of other packages, found by their entry points.

A package declares `[project.entry-points."moverank.encoders"]`, or `"moverank.scorers"`, with `NAME = "module:Class"`.
Nothing is loaded until a class is named.
"""

import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from moverank.rerank.errors import EncoderError, ScorerError
from moverank.rerank.options import Option, check_options, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Fitted(Protocol):
    """A class with options."""

    options: ClassVar[tuple[Option, ...]]


_Kind = TypeVar("_Kind", bound=Fitted)


class PlugIns(Generic[_Kind]):
    """The classes of one kind: the `built_in` ones by name, and those that other packages provide.

    `what` is the name of the kind, "encoder"; the group of its entry points is then `moverank.encoders`, and its
    contract `moverank.testing.check_encoder`. A built-in class that is given by its name is imported on first use, from
    the module of `moverank.rerank.encoders` with its key. A class of another package must have the named `methods` and
    `attributes`. `error` is raised for an unusable class.
    """

    def __init__(
        self,
        what: str,
        built_in: Mapping[str, str | type[_Kind]],
        methods: tuple[str, ...],
        error: type[EncoderError] | type[ScorerError],
        attributes: tuple[str, ...] = (),
    ) -> None:
        self._what, self._built_in, self._methods = what, built_in, methods
        self._error, self._attributes = error, attributes
        self._loaded: dict[str, type[_Kind]] = {}

    def has(self, name: str) -> bool:
        """Return whether there is a class of that name."""
        return name in self._built_in or name in self.names()

    def of(self, name: str) -> type[_Kind]:
        """Return the class of that name; no package replaces a built-in one.

        Raises the error for an unknown name, and for a class that cannot be loaded.
        """
        own = self._built_in.get(name)
        if isinstance(own, str):
            own = getattr(import_module(f"moverank.rerank.{self._what}s.{name}"), own)
        found: type[_Kind] | None = own or self.named(name)
        if found is None:
            names = (*self._built_in, *self.names())
            raise self._error(
                f"there is no {self._what} {name!r}{did_you_mean(name, names)}: choose {', '.join(names)}, or install "
                "the package that provides it"
            )
        return found

    def choose(self, name: str, options: Mapping[str, str]) -> type[_Kind]:
        """Return the class of that name, and validate the `options` of its `fit`.

        Raises the error for an unknown name, an unknown option and an invalid value, before any document is read.
        """
        found = self.of(name)
        check_options(name, found.options, options, self._error)
        return found

    def names(self) -> tuple[str, ...]:
        """Return the names that other packages provide; none of them is loaded."""
        return tuple(sorted({point.name for point in self._points()}))

    def named(self, name: str) -> type[_Kind] | None:
        """Load the class of that name; None if no package provides one.

        Raises the error, which names the package, if the class cannot be loaded or is of another kind, or if several
        packages provide one.
        """
        if name in self._loaded:
            return self._loaded[name]
        named = [point for point in self._points() if point.name == name]
        points = list({(point.value, _package(point)): point for point in named}.values())
        if not points:
            return None
        if len(points) > 1:
            packages = " and ".join(sorted(map(_package, points)))
            raise self._error(f"the {self._what} {name!r} is provided by {packages}: uninstall all but one")
        self._loaded[name] = self._checked(points[0])
        return self._loaded[name]

    def _points(self) -> "tuple[EntryPoint, ...]":
        return _entry_points(f"moverank.{self._what}s", tuple(sys.path))

    def _checked(self, point: "EntryPoint") -> type[_Kind]:
        """Load the class of an entry point."""
        where = f"the {self._what} {point.name!r} of the package {_package(point)}"
        try:
            found: Any = point.load()
        except Exception as error:  # its module may raise anything
            raise self._error(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
        missing = [f"method {name}" for name in self._methods if not callable(getattr(found, name, None))]
        missing += [f"attribute {name}" for name in self._attributes if not hasattr(found, name)]
        if not isinstance(found, type) or missing:
            lacks = f"no class with the {missing[0]}" if missing else "no class"
            raise self._error(f"{where} is {lacks} ({point.value}): see moverank.testing.check_{self._what}")
        if getattr(found, "name", None) != point.name:
            raise self._error(f"{where} has another name, {getattr(found, 'name', None)!r}: both must be the same")
        options = getattr(found, "options", None)
        if not isinstance(options, tuple) or not all(isinstance(option, Option) for option in options):
            raise self._error(f"{where} needs a tuple of options (moverank.rerank.options): {options!r} is none")
        kind: type[_Kind] = found
        return kind


@cache
def _entry_points(group: str, _path: tuple[str, ...]) -> "tuple[EntryPoint, ...]":
    """Return the entry points of a group; they are read again if the import path changes."""
    from importlib.metadata import entry_points  # imported here: built-in classes do not need it

    return tuple(entry_points(group=group))


def _package(point: "EntryPoint") -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value
