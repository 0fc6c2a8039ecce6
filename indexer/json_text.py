"""JSON of many small values: json's own encoder, made once."""

import json
from collections.abc import Callable
from json import encoder


def json_encoder(*, sort_keys: bool = False) -> Callable[[object], str]:
    """Return a function that writes a value as `json.dumps` does; values must not contain themselves.

    `JSONEncoder.encode` makes an encoder in C for each value, which takes twice as long as using it. An interpreter
    without that encoder uses `JSONEncoder.encode`.
    """
    usual = json.JSONEncoder(sort_keys=sort_keys)
    make = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return usual.encode
    separators = usual.key_separator, usual.item_separator
    chunks = make(None, usual.default, encoder.encode_basestring_ascii, None, *separators, sort_keys, False, True)

    def encoded(value: object) -> str:
        return "".join(chunks(value, 0))

    return encoded
