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
"""The class of every encoder by its name on the command line, which is its module's name too."""


def named(name: str) -> type[Encoder]:
    """Return the encoder of that name; raise EncoderError for a name that there is not."""
    if name not in ENCODERS:
        raise EncoderError(f"there is no encoder {name!r}: choose {', '.join(ENCODERS)}")
    # Imported when it is asked for: who restores one encoder does not pay for all.
    found: type[Encoder] = getattr(import_module(f"moverank.rerank.encoders.{name}"), ENCODERS[name])
    return found


def choose(name: str, options: Mapping[str, str]) -> type[Encoder]:
    """Return the encoder of that name, to be fitted with these options as typed.

    Raises EncoderError for a name, an option or a value that there is not, before any document is read.
    """
    encoder = named(name)
    check_options(name, encoder.options, options, EncoderError)
    return encoder


def restore(name: str, state: State) -> Encoder:
    """Make the encoder of that name again of its state; raises EncoderError where that cannot be."""
    return named(name).restore(state)
