"""A server of the Model Context Protocol: each of its tools is made of the record of an operation."""

import asyncio
import inspect
import json
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import ExitStack, redirect_stdout
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from threading import Event, Lock
from typing import Any, Literal

import anyio
from anyio import to_thread
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from pydantic import TypeAdapter, ValidationError

from moverank.indexer.commands.failures import error_report
from moverank.indexer.errors import UsageError
from moverank.indexer.opening import Opened, open_index
from moverank.indexer.operations.json_types import invalid_sentence, model_of, object_of, with_documents
from moverank.indexer.operations.operation import Operation
from moverank.indexer.operations.operation_registry import served_operations
from moverank.indexer.reranking.texts import document_of_text
from moverank.indexer.values.option import DeclaredOption, Option, built, options_of
from moverank.rerank.options import did_you_mean
from moverank.rerank.runtime.deadline import stopping

TOOLS = ("search", "explain", "why-not", "compare", "show")
"""The operations that are tools without being named; `compare` only where its plug-in is."""


class OperationTool:
    """An operation as a tool: its arguments are the options of the record, and the collection if there are several."""

    def __init__(self, kind: type[Operation[Any]], collections: tuple[str, ...]) -> None:
        self.name = kind.NAME.replace("-", "_")
        self._kind, self._default = kind, collections[0]
        self._options = [one for one in options_of(kind).values() if one.option.http]
        named = Option("The collection.")
        choice = DeclaredOption("collection", Literal[collections], named, self._default)
        self._model = model_of(self.name, [*self._options, *([choice] if len(collections) > 1 else [])])

    def described(self) -> types.Tool:
        """Return the description of the tool, with the schemas of its arguments and of its answer."""
        return types.Tool(
            name=self.name,
            description=inspect.getdoc(self._kind),
            input_schema=self._model.model_json_schema(),
            output_schema=TypeAdapter(object_of(self._kind.ANSWER)).json_schema(),
            annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        )

    def called(self, arguments: Mapping[str, Any]) -> tuple[str, Operation[Any]]:
        """Return the collection and the operation; ValidationError and UsageError for invalid arguments."""
        given = self._model.model_validate(arguments)
        values = {one.name: getattr(given, one.key) for one in self._options}
        operation: Operation[Any] = built(self._kind, with_documents(self._kind, values, document_of_text))
        return getattr(given, "collection", self._default), operation


class ToolServer:
    """Calls tools on open collections by name, each call in a thread; it follows changes by other processes."""

    def __init__(self, collections: Mapping[str, Opened], tools: Iterable[OperationTool]) -> None:
        self._collections, self._tools = collections, {tool.name: tool for tool in tools}
        self._following = Lock()

    async def list_tools(self, _context: Any, _params: Any) -> types.ListToolsResult:
        """Return the descriptions of all tools."""
        return types.ListToolsResult(tools=[tool.described() for tool in self._tools.values()])

    async def call_tool(self, _context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Return the answer of a tool, or the sentence of an error; a call that is cancelled stops its work."""
        stopped = Event()
        arguments = params.name, params.arguments or {}, stopped.is_set
        try:
            return await to_thread.run_sync(self._result, *arguments, abandon_on_cancel=True)
        finally:
            stopped.set()

    def _result(self, name: str, arguments: Mapping[str, Any], stop: Callable[[], bool]) -> types.CallToolResult:
        try:
            with stopping(stop):
                found = self._answer(name, arguments)
        except Exception as error:
            sentence = _sentence(error)
            if not sentence:
                raise  # a defect, which the protocol's library logs
            return types.CallToolResult(content=[types.TextContent(text=sentence)], is_error=True)
        text = json.dumps(found, ensure_ascii=False)  # for clients that read no structured content
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=found)

    def _answer(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if name not in self._tools:
            names = tuple(self._tools)
            raise UsageError(f"there is no tool {name!r}{did_you_mean(name, names)}: choose {', '.join(names)}")
        chosen, operation = self._tools[name].called(arguments)
        collection = self._collections[chosen]
        with self._following:
            if getattr(collection, "changed", bool)():  # a store of another package may be unable to say so
                collection.refresh()
        answer: dict[str, Any] = collection.run(operation).to_dict()
        return answer


def _sentence(error: Exception) -> str:
    """Return an error of a call as a sentence, empty for an unexpected one."""
    if not isinstance(error, ValidationError):
        report = error_report(error)
        return report.sentence if report else ""
    first: Any = error.errors()[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        return f"{place} is no argument of this tool: see its input schema for those that there are"
    return invalid_sentence(place, first)


def run_server(places: Mapping[str, Path], further: Iterable[str]) -> None:
    """Serve the collections at `places`, by name, until standard input ends or a signal comes.

    `further`: names of operations that are tools beside `TOOLS`. Raises UsageError for one that servers do not answer,
    and CollectionError.
    """
    kinds = {kind.NAME: kind for kind in served_operations()}
    for name in further:
        if name not in kinds:
            choice = ", ".join(one for one in kinds if one not in TOOLS)
            raise UsageError(f"{name!r} is no operation that only reads{did_you_mean(name, kinds)}: choose {choice}")
    chosen = dict.fromkeys((*TOOLS, *further))
    tools = [OperationTool(kinds[name], tuple(places)) for name in chosen if name in kinds]
    try:
        with ExitStack() as opened:
            collections = {name: opened.enter_context(open_index(place)) for name, place in places.items()}
            anyio.run(_serve, ToolServer(collections, tools))
    except* BrokenPipeError:
        pass  # the client has ended


async def _serve(tools: ToolServer) -> None:
    own = version("moverank")
    server = Server("moverank", version=own, on_list_tools=tools.list_tools, on_call_tool=tools.call_tool)
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(scope.cancel))
        # What others write to standard output meanwhile goes to standard error; so must what Python still buffers.
        async with stdio_server(stdin=_lines()) as (read, write):
            with redirect_stdout(sys.stderr):
                await server.run(read, write, server.create_initialization_options())


async def _lines() -> AsyncIterator[str]:
    """Yield the lines of standard input; unlike the library's own reader, a signal ends the wait for the next one."""
    if not isinstance(sys.stdin, TextIOWrapper):  # None if it was closed before the process started
        return
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    while line := await to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
        yield line
