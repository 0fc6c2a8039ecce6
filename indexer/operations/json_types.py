"""Operations in JSON: their options as a model of pydantic, which validates them, and the types of their answers.

Servers describe and validate operations by these; the core itself does without pydantic, which is no dependency of it.
"""

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING
from functools import cache
from itertools import pairwise
from types import NoneType
from typing import (
    Annotated,
    Any,
    NotRequired,  # pydantic needs this one before Python 3.12
    TypeVar,
    get_args,
    get_origin,
)

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator
from pydantic_core import PydanticSerializationError, to_json
from typing_extensions import TypedDict

from moverank.indexer.operations.operation import Operation
from moverank.indexer.values.documents import Document
from moverank.indexer.values.limit_or_share import SHARE
from moverank.indexer.values.option import DeclaredOption, options_of
from moverank.indexer.values.queries import QueryText, Scores, SomeTexts
from moverank.rerank.answer import Answer, Number, bare, declared, is_object, members
from moverank.rerank.ranking import Hit, Ranking

# ---- options

TextOrRecord = str | dict[str, Any]
"""A text, or a record with the fields that `index` and `threads` read."""

_Item = TypeVar("_Item")
Listed = Annotated[list[_Item], Field(fail_fast=True)]
"""A list of which only the first wrong item is reported: reports of a million would take gigabytes."""

FilterBody = Listed[str] | dict[str, Any]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[str, Field(pattern=SHARE)]
Vector = Listed[float] | None


class Body(BaseModel):
    """A JSON object without unknown fields."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _of_whole_characters(cls, value: Any) -> Any:
        """Raise ValueError for a lone surrogate, which no answer could repeat."""
        check_characters(value)
        return value


_JSON_TYPES: dict[str, Any] = {
    "where": FilterBody | None,
    "max_distance": Annotated[Finite, Field(ge=0)] | Share | None,
    "highlight": bool,
}
"""The types in JSON of options that are not of such a type in Python."""

_TEXT_TYPES: dict[Any, Any] = {
    float | str: float,  # no share
    QueryText: TextOrRecord,
    QueryText | None: TextOrRecord | None,
    SomeTexts: Listed[TextOrRecord],
    Iterable[float] | None: Vector,
    Scores | None: Listed[Finite | None] | None,
    Iterable[str]: Listed[str],
    Sequence[str]: Listed[str],
}
"""The types in JSON by those in Python."""


def model_of(name: str, options: Iterable[DeclaredOption], text: str | None = None) -> Any:
    """Return options as the fields of a request, which `text` describes."""
    made = dict[str, Any]()
    for one in options:
        if one.option.http:
            option, limits = one.option, dict[str, Any]()
            if one.name not in _JSON_TYPES:
                limits |= {"allow_inf_nan": False} if float in members(one.type) else {}
                limits |= {} if option.least is None else {"ge": option.least}
                limits |= {} if option.above is None else {"gt": option.above}
            described = f"{option.help[:-1]}; null: {option.missing}." if option.missing else option.help
            default = {} if one.default is MISSING else {"default": one.default}
            kind = _JSON_TYPES.get(one.name, _TEXT_TYPES.get(one.type, one.type))
            made[one.key] = (kind, Field(**default, description=described, **limits))
    return create_model(name, __base__=Body, __doc__=text, **made)


def check_characters(value: Any) -> None:
    """Raise ValueError if a string in a JSON value has a lone surrogate, as half of an emoji."""
    with suppress(PydanticSerializationError):  # of such a string, or of a value that is nested deeply
        to_json(value)  # several times as fast as the loop below, which blocks all other requests
        return
    values = [value]
    while values:  # not recursive: values may be as deep as the parser allows
        one = values.pop()
        if isinstance(one, dict):
            values += [*one, *one.values()]
        elif isinstance(one, list):
            values += one
        elif isinstance(one, str) and not one.isascii():
            try:
                one.encode()
            except UnicodeEncodeError as error:
                half = ascii(one[error.start])[1:-1]
                raise ValueError(f"a string holds {half}, half of a surrogate pair: take it out") from error


def with_documents(
    kind: type[Operation[Any]], values: Mapping[str, Any], read: Callable[[TextOrRecord, str], Document]
) -> dict[str, Any]:
    """Return the options of an operation with documents in place of texts and records, which `read` reads by name."""
    found = dict(values)
    for name, value in values.items():
        kind_of_value, noun = options_of(kind)[name].type, options_of(kind)[name].option.noun
        if kind_of_value in (QueryText, QueryText | None) and value is not None:
            found[name] = read(value, noun)
        elif kind_of_value == SomeTexts:
            found[name] = [read(text, f"{noun} {i}") for i, text in enumerate(value)]
    return found


def invalid_sentence(place: str, error: Mapping[str, Any]) -> str:
    """Return one of pydantic's errors as a sentence; `place` is the option, empty for all of them."""
    known = _SENTENCES.get(error["type"])
    sentence = str(error["msg"]) if known is None else known.format_map(error.get("ctx", {}))
    return f"{place}: {sentence}" if place else sentence


_SENTENCES = {
    "value_error": "{error}",
    "missing": "is missing",
    "string_type": "must be a text",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_attributes_type": "must be an object",
    "greater_than_equal": "must be at least {ge}",
    "greater_than": "must be above {gt}",
    "less_than_equal": "must be at most {le}",
    "less_than": "must be below {lt}",
    "too_long": "has more than {max_length} items",
    "too_short": "has fewer than {min_length} items",
    "string_too_long": "has more than {max_length} characters",
    "string_too_short": "has fewer than {min_length} characters",
    "string_pattern_mismatch": "does not match the pattern {pattern}",
    "literal_error": "must be one of {expected}",
}
"""Our sentences for the types of errors of pydantic, with the values of their contexts."""

# ---- answers

_REVISION = {"revision": Annotated[int, Field(description="The revision of the collection that was used.")]}
_ADDED: Mapping[type[Answer], Mapping[str, Any]] = {
    Hit: {"rank": Annotated[int, Field(description="The place in the list, from 1.")]},
    Ranking: {name: NotRequired[kind] for name, kind in _REVISION.items()},  # several have it in common
}
"""What an object has beside the keys of its answer."""


@cache
def _object_of(kind: Any, revised: bool) -> Any:
    added = _REVISION if revised else _ADDED.get(kind, {})
    made: Any = TypedDict(f"{kind.OBJECT or kind.__name__}Object", _keys(kind) | added)  # type: ignore[misc]
    made.__doc__ = inspect.getdoc(kind)
    return made


def object_of(kind: Any, *, revised: bool = False) -> Any:
    """Return the type of the JSON object of an answer, a class, with the keys that the server adds."""
    has_own = kind in _ADDED or any(one.attribute == "revision" for one in declared(kind))
    return _object_of(kind, revised and not has_own)


def _keys(kind: Any) -> dict[str, Any]:
    texts, keys = _descriptions(kind), dict[str, Any]()
    for one in declared(kind):
        if one.key.flat:
            keys |= _keys(bare(one.type))
            continue
        described = Field(description=_of_json(texts[one.attribute], optional=one.key.optional))
        found: Any = Annotated[_json_type(one.type, nullable=not one.key.optional), described]
        keys[one.key.name or one.attribute] = NotRequired[found] if one.key.optional else found
    return keys


def _json_type(hint: Any, *, nullable: bool = True) -> Any:
    """Return the type of a value in JSON; `nullable`: None may be one."""
    kind, *more = members(hint)
    inner = get_args(kind)
    if more:
        return Any
    if hint == Number or (nullable and NoneType in get_args(bare(hint))):
        return _json_type(kind) | None
    if isinstance(kind, type) and issubclass(kind, Answer):
        return object_of(kind)
    if is_object(kind):
        return dict[str, _json_type(get_args(inner[0])[1])]  # type: ignore[misc]
    if get_origin(kind) in (tuple, Iterable):
        return list[_json_type(inner[0])]  # type: ignore[misc]
    return dict[str, _json_type(inner[1])] if get_origin(kind) in (dict, Mapping) else kind  # type: ignore[misc]


def _descriptions(kind: Any) -> dict[str, str]:
    """Return the first paragraphs of the descriptions of fields and properties, by name."""
    found = dict[str, str]()
    for one in kind.__mro__[-3::-1]:  # without `Answer` and `object`
        (tree,) = ast.parse(inspect.getsource(one)).body
        for statement, after in pairwise(tree.body):  # type: ignore[attr-defined]
            if isinstance(statement, ast.AnnAssign) and isinstance(after, ast.Expr):
                found[statement.target.id] = after.value.value  # type: ignore[attr-defined, union-attr]
        for name, value in vars(one).items():
            if isinstance(value, property):
                text = (value.__doc__ or "").removeprefix("Return ")
                found[name] = text[:1].upper() + text[1:]
    return {name: " ".join(text.partition("\n\n")[0].split()) for name, text in found.items()}


def _of_json(text: str, *, optional: bool) -> str:
    """Return a description with JSON's names for Python's values; an `optional` key is left out."""
    missing = "left out" if optional else "null"
    words = {"None": missing, "nan": "null", "infinite": "null", "True": "true", "False": "false"}
    words |= {"empty": missing} if optional else {}
    named = re.sub(r"(?<=`)[A-Z]\w+\.(?=\w+`)", "", text)
    return re.sub(rf"(?<!^)\b({'|'.join(words)})\b", lambda word: words[word[0]], named)
