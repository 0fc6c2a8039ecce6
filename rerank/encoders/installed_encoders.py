"""Encoders of other packages, found by their entry points of the group `moverank.encoders`.

A package declares `[project.entry-points."moverank.encoders"]` with `NAME = "module:Class"`. Nothing is loaded until an
encoder is named.
"""

from typing import TYPE_CHECKING

from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import Option

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "moverank.encoders"

_METHODS = ("fit", "encode", "state", "restore")
_loaded: dict[str, type[Encoder]] = {}


def installed_names() -> tuple[str, ...]:
    """Return the names of the encoders that other packages provide; none of them is loaded."""
    return tuple(sorted({point.name for point in _entry_points()}))


def installed(name: str) -> type[Encoder] | None:
    """Load the encoder of that name; None if no package provides one.

    Raises EncoderError, which names the package, if it cannot be loaded or is no encoder, and if several provide one.
    """
    if name in _loaded:
        return _loaded[name]
    points = list({(point.value, _package(point)): point for point in _entry_points() if point.name == name}.values())
    if not points:
        return None
    if len(points) > 1:
        packages = " and ".join(sorted(map(_package, points)))
        raise EncoderError(f"the encoder {name!r} is provided by {packages}: uninstall all but one")
    _loaded[name] = _checked(points[0])
    return _loaded[name]


def _entry_points() -> "list[EntryPoint]":
    from importlib.metadata import entry_points  # here: built-in encoders do not need it

    return list(entry_points(group=GROUP))


def _checked(point: "EntryPoint") -> type[Encoder]:
    """Load the class of an entry point."""
    where = f"the encoder {point.name!r} of the package {_package(point)}"
    try:
        found = point.load()
    except Exception as error:  # its module may raise anything
        raise EncoderError(f"{where} cannot be loaded: {type(error).__name__}: {error}") from error
    missing = [name for name in _METHODS if not callable(getattr(found, name, None))]
    if not isinstance(found, type) or missing:
        lacks = f"no class with the method {missing[0]}" if missing else "no class"
        raise EncoderError(f"{where} is {lacks} ({point.value}): see moverank.testing.check_encoder")
    if getattr(found, "name", None) != point.name:
        raise EncoderError(f"{where} has another name, {getattr(found, 'name', None)!r}: both must be the same")
    options = getattr(found, "options", None)
    if not isinstance(options, tuple) or not all(isinstance(option, Option) for option in options):
        raise EncoderError(f"{where} needs a tuple of options (moverank.rerank.options): {options!r} is none")
    encoder: type[Encoder] = found
    return encoder


def _package(point: "EntryPoint") -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value
