"""The commands of plug-ins and of other packages; that of an operation is made of its record."""

from collections.abc import Callable
from dataclasses import MISSING
from inspect import Parameter, Signature
from typing import Annotated, Any, get_args, get_origin

import typer

from moverank.indexer import formatters, operations
from moverank.indexer.commands.option_records import option_of, typed
from moverank.indexer.commands.shared_options import DEFAULT_INDEX, Index, Json, Server, opened
from moverank.indexer.errors import PlugInError
from moverank.indexer.values.option import DeclaredOption, built, options_of


def operation_app(name: str) -> typer.Typer:
    """Return an app with the command of the operation `name`, which raises PlugInError if the operation is unusable."""
    try:
        kind = operations.operation_named(name)
    except PlugInError as error:
        return unusable_app(name, str(error))
    options = {name: one for name, one in options_of(kind).items() if one.option.http}

    def command(index: Any, server: Any, *, as_json: bool, **given: Any) -> None:
        with opened(index, server) as collection, formatters.Bars() as bars:
            found = collection.run(built(kind, given), progress=bars)
        if as_json:
            formatters.print_object(found.to_dict())
        else:
            formatters.print_view(formatters.view_of_answer(found))

    shared = [("index", Index, DEFAULT_INDEX), ("server", Server, None), ("as_json", Json, False)]
    parameters = [*(_parameter(kind, one) for one in options.values()), *(_named(*one) for one in shared)]
    _signed(command, parameters)
    app = typer.Typer()
    app.command(name, help=kind.__doc__)(command)
    return app


def unusable_app(name: str, sentence: str) -> typer.Typer:
    """Return an app with the command `name`, which raises PlugInError with a sentence."""

    def command() -> None:
        raise PlugInError(sentence)

    app = typer.Typer()
    app.command(name, help=f"Unusable: {sentence}.")(command)
    return app


def _signed(command: Callable[..., None], parameters: list[Parameter]) -> None:
    """Set the parameters that Typer reads, those without a default first."""
    parameters.sort(key=lambda one: one.default is not Parameter.empty)
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]


def _named(name: str, kind: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _parameter(kind: Any, one: DeclaredOption) -> Parameter:
    """Return an option as Typer reads it; one without a default is an argument."""
    value = typed(one.type)
    if one.default is MISSING:
        option = one.option
        argument = typer.Argument(metavar=one.name.upper(), help=option.help, min=option.least, max=option.most)
        return _named(one.name, Annotated[value, argument], Parameter.empty)
    default = one.default or None if list in (get_origin(value), *map(get_origin, get_args(value))) else one.default
    return _named(one.name, Annotated[value, option_of(kind, one.name)], default)
