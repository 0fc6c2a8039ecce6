"""Options as records: a command names the dataclasses that it takes, and gets them built from its options."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, get_args


def with_records(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has an option for each field of the records that `function` takes, and builds them.

    A field is declared as Typer declares a parameter: `Annotated[type, typer.Option(...)]`, with a default. A record
    may have the class variable `PANEL`, the panel of `--help` that its options are in.
    """
    declared = signature(function)
    annotations = {name: each.annotation for name, each in declared.parameters.items()}
    records: dict[str, Any] = {name: each for name, each in annotations.items() if is_dataclass(each)}

    @wraps(function)
    def command(**given: Any) -> None:
        built = {
            name: record(**{field.name: given.pop(field.name) for field in fields(record)})
            for name, record in records.items()
        }
        function(**given, **built)

    parameters: list[Parameter] = []
    for name, each in declared.parameters.items():
        parameters += _options(records[name]) if name in records else [each.replace(kind=Parameter.KEYWORD_ONLY)]
    command.__signature__ = declared.replace(parameters=parameters)  # type: ignore[attr-defined]  # Typer reads it
    return command


def _options(record: Any) -> Iterator[Parameter]:
    """Yield the parameter of each field of a record."""
    for field in fields(record):
        kind, option = get_args(field.type)
        option = copy(option)
        option.rich_help_panel = option.rich_help_panel or getattr(record, "PANEL", None)
        default = Parameter.empty if field.default is MISSING else field.default
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])
