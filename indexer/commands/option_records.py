"""Options as records: a command names the dataclasses that it takes, and gets them built from its options."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from types import NoneType, UnionType
from typing import Annotated, Any, get_args, get_origin

import typer

from moverank.indexer.commands.completion import complete_field, complete_rank
from moverank.indexer.values.option import Option, options_of


def with_records(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has an option for each field of the records that `function` takes, and builds them.

    A field is declared by an `Option`, or as Typer declares a parameter: `Annotated[type, typer.Option(...)]`. A record
    may have the class variable `PANEL`, the panel of `--help` that its options are in.
    """
    declared = signature(function)
    annotations = {name: each.annotation for name, each in declared.parameters.items()}
    records: dict[str, Any] = {name: each for name, each in annotations.items() if is_dataclass(each)}
    options = {name: list(_options(record)) for name, record in records.items()}

    @wraps(function)
    def command(**given: Any) -> None:
        built = {
            name: record(**{one.name: given.pop(one.name) for one in options[name]}) for name, record in records.items()
        }
        function(**given, **built)

    parameters: list[Parameter] = []
    for name, each in declared.parameters.items():
        parameters += options.get(name) or [each.replace(kind=Parameter.KEYWORD_ONLY)]
    command.__signature__ = declared.replace(parameters=parameters)  # type: ignore[attr-defined]  # Typer reads it
    return command


def option_of(record: Any, name: str, *flags: str) -> Any:
    """Return what a field of a record declares as Typer's option, perhaps with other `flags`."""
    one = options_of(record)[name]
    switch = (f"--{name.replace('_', '-')}",) if one.default is False else ()
    is_limit = str in get_args(one.type) and float in get_args(one.type)
    named = flags or one.option.flags or switch
    return typed_option(one.option, *named, complete=_COMPLETED.get(name), parser=_typed_limit if is_limit else None)


def typed_option(option: Option, *flags: str, complete: Any = None, parser: Any = None) -> Any:
    """Return an option as Typer's; `complete` completes its values, and `parser` reads them."""
    return typer.Option(
        *flags,
        metavar=option.metavar,
        min=option.least,
        max=option.most,
        help=f"{option.help} [default: {option.missing}]" if option.missing else option.help,
        autocompletion=complete,
        parser=parser,
        rich_help_panel=option.panel or None,
    )


_COMPLETED: dict[str, Any] = {
    **dict.fromkeys(("rank", "distance", "methods"), complete_rank),
    **dict.fromkeys(("group_by", "where", "keep_where"), complete_field),
}


def typed(kind: Any) -> Any:
    """Return the type for Typer: a text for a record, and for a number or a text; a list for several values."""
    parts = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if list[int] in parts:
        return kind
    if bool in parts:
        return bool
    if any(get_origin(one) in (list, tuple, Iterable, Sequence) for one in parts):
        return list[str] | None if NoneType in parts else list[str]
    if str in parts:
        return str | None if NoneType in parts else str
    return kind


def _typed_limit(typed: str) -> float | str:
    from moverank.indexer.values.limit_or_share import typed_limit

    return typed_limit(typed)


def _options(record: Any) -> Iterator[Parameter]:
    """Yield the parameter of each field of a record."""
    declared = options_of(record)
    for field in fields(record):
        if not declared:
            kind, option = get_args(field.type)
            option = copy(option)
            option.rich_help_panel = option.rich_help_panel or getattr(record, "PANEL", None)
        elif field.name in declared and (declared[field.name].option.panel or hasattr(record, "PANEL")):
            kind, option = typed(declared[field.name].type), option_of(record, field.name)
        else:
            continue
        default = Parameter.empty if field.default is MISSING else field.default
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])
