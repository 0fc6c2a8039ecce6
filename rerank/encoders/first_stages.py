"""The first stages by name: encoders of this package, of plug-ins, and of other packages."""

from collections.abc import Mapping
from types import MappingProxyType

from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.errors import EncoderError
from moverank.rerank.plug_ins import PlugIns

ENCODERS: Mapping[str, str | None] = MappingProxyType(
    {
        "centroid": "moverank.rerank.encoders.centroid:Centroid",
        "fisher": "moverank.rerank.encoders.fisher:Fisher",
        "lsi": "moverank.rerank.encoders.lsi:Lsi",
        **dict.fromkeys(("lda", "msda", "ccg")),
    }
)
"""The class of each own encoder by its name on the command line.

None: in the plug-in `methods`, which may have been removed.
"""
PLUG_INS = PlugIns[Encoder]("encoder", ENCODERS, ("fit", "encode", "state", "restore"), EncoderError)
"""All encoders that are installed."""
is_encoder, encoder_class, choose_encoder = PLUG_INS.has, PLUG_INS.of, PLUG_INS.choose
