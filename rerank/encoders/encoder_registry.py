"""The encoders by name: built-in encoders and plug-ins of other packages."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.errors import EncoderError
from moverank.rerank.options import check_options, did_you_mean
from moverank.rerank.plug_ins import PlugIns

ENCODERS: Mapping[str, str] = MappingProxyType(
    {"centroid": "Centroid", "fisher": "Fisher", "lsi": "Lsi", "lda": "Lda", "msda": "Msda", "ccg": "Ccg"}
)
"""The class of each encoder by its name on the command line, which is also the name of its module."""
PLUG_INS = PlugIns[Encoder]("encoder", ("fit", "encode", "state", "restore"), EncoderError, ("options",))
"""The encoders of other packages."""


def is_encoder(name: str) -> bool:
    """Return whether there is an encoder of that name."""
    return name in ENCODERS or name in PLUG_INS.names()


def encoder_class(name: str) -> type[Encoder]:
    """Return the encoder class of that name; no package replaces a built-in one.

    Raises EncoderError for an unknown name, and for a class that cannot be loaded.
    """
    if name not in ENCODERS:
        found = PLUG_INS.named(name)
        if found is None:
            names = (*ENCODERS, *PLUG_INS.names())
            raise EncoderError(
                f"there is no encoder {name!r}{did_you_mean(name, names)}: choose {', '.join(names)}, or install the "
                "package that provides it"
            )
        return found
    # Imported on first use: restoring one encoder does not import all.
    encoder: type[Encoder] = getattr(import_module(f"moverank.rerank.encoders.{name}"), ENCODERS[name])
    return encoder


def choose_encoder(name: str, options: Mapping[str, str]) -> type[Encoder]:
    """Return the encoder class of that name, and validate the `options` of its `fit`.

    Raises EncoderError for an unknown name, an unknown option and an invalid value, before any document is read.
    """
    encoder = encoder_class(name)
    check_options(name, encoder.options, options, EncoderError)
    return encoder
