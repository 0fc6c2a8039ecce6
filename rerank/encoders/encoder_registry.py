"""The encoders by name."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from moverank.rerank.encoders.encoder import Encoder, State
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import check_options

ENCODERS: Mapping[str, str] = MappingProxyType(
    {"centroid": "Centroid", "fisher": "Fisher", "lsi": "Lsi", "lda": "Lda", "msda": "Msda", "ccg": "Ccg"}
)
"""The class of each encoder by its name on the command line, which is also the name of its module."""


def named(name: str) -> type[Encoder]:
    """Return the encoder class of that name. Raises EncoderError for an unknown name."""
    if name not in ENCODERS:
        raise EncoderError(f"there is no encoder {name!r}: choose {', '.join(ENCODERS)}")
    # Imported on first use: restoring one encoder does not import all.
    encoder: type[Encoder] = getattr(import_module(f"moverank.rerank.encoders.{name}"), ENCODERS[name])
    return encoder


def choose(name: str, options: Mapping[str, str]) -> type[Encoder]:
    """Return the encoder class of that name, and validate the `options` of its `fit`.

    Raises EncoderError for an unknown name, an unknown option and an invalid value, before any document is read.
    """
    encoder = named(name)
    check_options(name, encoder.options, options, EncoderError)
    return encoder


def restore(name: str, state: State) -> Encoder:
    """Return the encoder of that name with this state. Raises EncoderError for an unknown name or an invalid state."""
    return named(name).restore(state)
