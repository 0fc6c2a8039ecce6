"""The encoders by name: built-in encoders and plug-ins of other packages."""

from collections.abc import Mapping
from types import MappingProxyType

from moverank.rerank.encoders.encoder import Encoder
from moverank.rerank.errors import EncoderError
from moverank.rerank.plug_ins import PlugIns

ENCODERS: Mapping[str, str] = MappingProxyType(
    {"centroid": "Centroid", "fisher": "Fisher", "lsi": "Lsi", "lda": "Lda", "msda": "Msda", "ccg": "Ccg"}
)
"""The class of each encoder by its name on the command line, which is also the name of its module."""
PLUG_INS = PlugIns[Encoder]("encoder", ENCODERS, ("fit", "encode", "state", "restore"), EncoderError)
"""The encoders of other packages."""
is_encoder, encoder_class, choose_encoder = PLUG_INS.has, PLUG_INS.of, PLUG_INS.choose
