"""JSON of many small values: json's own encoder, made once."""

import json
from collections.abc import Callable
from json import encoder
from typing import Any


def json_encoder(*, sort_keys: bool = False) -> Callable[[object], str]:
    """Return a function that writes a value as `json.dumps` does; values must not contain themselves.

    `JSONEncoder.encode` makes an encoder in C for each value, which takes twice as long as using it. Python does not
    promise how that is made: where it is not as here, `JSONEncoder.encode` is used.
    """
    usual = json.JSONEncoder(sort_keys=sort_keys)
    separators = usual.key_separator, usual.item_separator
    options: tuple[Any, ...] = (None, *separators, sort_keys, False, True)
    try:
        make: Any = encoder.c_make_encoder  # type: ignore[attr-defined]
        chunks = make(None, usual.default, encoder.encode_basestring_ascii, *options)
    except (AttributeError, TypeError):  # also None, in an interpreter that is not CPython
        return usual.encode

    def encoded(value: object) -> str:
        return "".join(chunks(value, 0))

    return encoded
