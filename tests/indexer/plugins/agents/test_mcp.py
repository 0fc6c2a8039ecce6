"""The command `mcp`, as a process of its own: the protocol's own client calls its tools."""

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

import anyio
from mcp import Client, StdioServerParameters, stdio_client, types

from moverank import Collection, Document
from moverank.indexer.operations.operation_registry import operation_named
from moverank.indexer.plugins.agents.mcp_server import TOOLS, OperationTool, ToolServer
from moverank.indexer.values.option import options_of
from tests.contracts.documentation import PAGES, ROOT, examples, rows
from tests.indexer.plugins.shards.conftest import created, keep_local
from tests.indexer.world import CollectionFactory, document
from tests.rerank.encoders.packages import write_installed
from tests.waiting import HUNG, wait_until

pytestmark = pytest.mark.slow
_Found = TypeVar("_Found")
DOCUMENTS = [
    Document("a", "Ant", document("a", "ant bee").parts, label="small"),
    document("b", "bee cat"),
    document("c", "cat dog cow"),
    document("lone", "zorp"),
]
OPENING: tuple[dict[str, Any], ...] = (
    {"id": 1, "method": "initialize"}
    | {"params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
    {"method": "notifications/initialized"},
)


@pytest.fixture
def place(factory: CollectionFactory) -> Path:
    with factory.empty() as opened:
        opened.index(DOCUMENTS)
        return opened.path


@pytest.fixture
def other(factory: CollectionFactory) -> Path:
    with factory.empty() as opened:
        opened.index([document("x", "gnu hen")])
        return opened.path


@pytest.fixture
def chatter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the operation `chatter` for processes that are started."""
    points = {"chatter": "tests.indexer.plugins.agents.chatter:Chatter"}
    installed = write_installed(tmp_path / "installed", "moverank_chatter", points, "operations")
    path = [str(installed), str(ROOT), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))


def connected(work: Callable[[Client], Awaitable[_Found]], *arguments: object, mode: str = "auto") -> _Found:
    """Return the result of work with a client of `moverank mcp`, which must have no defect."""
    command = ["-m", "moverank", "mcp", *map(str, arguments)]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))

    async def run() -> _Found:
        with tempfile.TemporaryFile("w+", encoding="utf-8") as notes:
            with anyio.fail_after(HUNG):
                async with Client(stdio_client(server, notes), mode=mode) as client:
                    found = await work(client)
            notes.seek(0)
            assert "Traceback" not in notes.read()
        return found

    found: _Found = anyio.run(run)
    return found


async def answer(client: Client, tool: str, **arguments: object) -> Any:
    """Return the JSON object of a tool, which its output schema describes and its text repeats."""
    found = await client.call_tool(tool, arguments)
    assert not found.is_error, found.content
    assert json.loads(found.content[0].text) == found.structured_content
    return found.structured_content


async def fault(client: Client, tool: str, **arguments: object) -> str:
    """Return the sentence of an error."""
    found = await client.call_tool(tool, arguments)
    assert found.is_error
    (sentence,) = [one.text for one in found.content]
    assert "\n" not in sentence
    return str(sentence)


class Said(NamedTuple):
    """What a process answered by id, its notes and its exit code."""

    answers: dict[int, Any]
    notes: str
    code: int


def call(number: int, tool: str, **arguments: object) -> dict[str, Any]:
    """Return a request that calls a tool."""
    return {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@contextmanager
def started(*arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """Run `moverank mcp` during the block."""
    command = [sys.executable, "-m", "moverank", "mcp", *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, encoding="utf-8", stdin=pipe, stdout=pipe, stderr=pipe) as process:
        try:
            yield process
        finally:
            process.kill()


def send(process: "subprocess.Popen[str]", *messages: dict[str, Any] | str) -> None:
    """Send messages, each on a line of its own; a text is sent as it is."""
    lines = [one if isinstance(one, str) else json.dumps({"jsonrpc": "2.0", **one}) for one in messages]
    assert process.stdin is not None
    process.stdin.write("".join(f"{line}\n" for line in lines))
    process.stdin.flush()


def answered(process: "subprocess.Popen[str]", number: int) -> dict[int, Any]:
    """Return the answers by id up to one; each line of standard output must be one."""
    answers = dict[int, Any]()
    assert process.stdout is not None
    while number not in answers:
        message = json.loads(process.stdout.readline())
        answers[message["id"]] = message
    return answers


def run(*arguments: object, sent: Sequence[dict[str, Any] | str], until: int | None = None) -> Said:
    """Send messages, wait for the answer to one of them, and close standard input."""
    with started(*arguments) as process:
        send(process, *sent)
        answers = {} if until is None else answered(process, until)
        rest, notes = process.communicate(timeout=HUNG)
        assert rest == ""
        return Said(answers, notes, process.returncode)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_are_described_by_their_operations(place: Path, mode: str) -> None:
    async def work(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in connected(work, "-i", place, mode=mode)}
    assert list(tools) == [name.replace("-", "_") for name in TOOLS]
    described = dict(rows(PAGES["recipes"], "tool"))
    assert {name.strip("`"): text for name, text in described.items()} == {
        name: tool.description for name, tool in tools.items()
    }
    for name, tool in zip(TOOLS, tools.values(), strict=True):
        kind = operation_named(name)
        assert tool.description == inspect.getdoc(kind)
        assert tool.annotations.read_only_hint
        options = [one for one in options_of(kind).values() if one.option.http]
        assert list(tool.input_schema["properties"]) == [one.key for one in options]
        helps = [value["description"] for value in tool.input_schema["properties"].values()]
        assert all(one.option.help[:-1] in text for one, text in zip(options, helps, strict=True))
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema["type"] == "object"
    assert tools["search"].input_schema["required"] == ["query"]
    assert tools["search"].input_schema["properties"]["k"]["minimum"] == 1


def test_each_tool_answers_as_the_library_does(place: Path) -> None:
    async def work(client: Client) -> list[Any]:
        record = {"title": "ant", "text": "bee"}
        return [
            await answer(client, "search", query=record, k=2, rank="wmd", where=["label=small"], explain=True),
            await answer(client, "explain", query="ant", key="b", rank="wmd"),
            await answer(client, "why_not", similar="a", key="c", k=1, rank="wmd"),
            await answer(client, "compare", claim="ant cat", keys=["a"], sources=["cat", {"text": "dog"}]),
            await answer(client, "show", key="a"),
        ]

    search, explain, why_not, compare, show = connected(work, "-i", place)
    with Collection.open(place) as opened:
        query = Document("", "ant", document("", "bee").parts)
        expected = opened.search(query, k=2, rank="wmd", where=["label=small"], explained=True).to_dict()
        assert {**search, "seconds": 0} == {**expected, "seconds": 0}
        assert explain == opened.explain("ant", "b", rank="wmd").to_dict()
        assert why_not == {"why_not": opened.why_not(similar="a", key="c", k=1, rank="wmd").to_dict()}
        assert compare == opened.compare("ant cat", ["a"], sources=["cat", "dog"]).to_dict()
    assert (show["key"], show["title"], show["label"], show["parts"][0]["text"]) == ("a", "Ant", "small", "ant bee")


SENTENCES: dict[str, tuple[str, dict[str, object]]] = {
    "query: is missing": ("search", {}),
    "k: must be at least 1": ("search", {"query": "ant", "k": 0}),
    "k: must be a whole number": ("search", {"query": "ant", "k": "many"}),
    "querry is no argument of this tool: see its input schema": ("search", {"query": "ant", "querry": "ant"}),
    "there is no ranking 'nope'": ("search", {"query": "ant", "rank": "nope"}),
    "the filter '===' is not a condition": ("search", {"query": "ant", "where": ["==="]}),
    "has no word that the collection has a vector for": ("search", {"query": "zorp", "rank": "wmd"}),
    "the collection has no document with the key 'gone'": ("show", {"key": "gone"}),
    "no document with the key 'lost'": ("explain", {"query": "ant", "key": "lost"}),
    "give one of query and similar": ("why_not", {"key": "a"}),
    "there is no tool 'serch' (did you mean search?): choose search, explain, why_not, compare, show": ("serch", {}),
}


def test_a_wrong_call_is_one_sentence(place: Path) -> None:
    async def work(client: Client) -> dict[str, str]:
        return {sentence: await fault(client, tool, **options) for sentence, (tool, options) in SENTENCES.items()}

    for sentence, said in connected(work, "-i", place).items():
        assert sentence in said


def test_a_collection_that_others_change_is_followed(place: Path) -> None:
    async def work(client: Client) -> None:
        assert (await fault(client, "show", key="new")).endswith("'new'")
        first = await answer(client, "search", query="elk fox", rank="wmd", k=1)
        with Collection.open(place) as opened:
            opened.index([document("new", "elk fox")])
        second = await answer(client, "search", query="elk fox", rank="wmd", k=1)
        assert (await answer(client, "show", key="new"))["parts"][0]["text"] == "elk fox"
        assert [first["hits"][0]["key"] == "new", second["hits"][0]["key"] == "new"] == [False, True]

    connected(work, "-i", place)


@pytest.mark.sqlite("removes the file")
@pytest.mark.unix
def test_a_removed_collection_is_one_sentence(place: Path) -> None:
    async def work(client: Client) -> str:
        await answer(client, "search", query="ant")
        (place / "collection.db").unlink()
        return await fault(client, "search", query="ant")

    assert connected(work, "-i", place).endswith("collection.db was removed, or may not be read")


def test_one_of_several_collections_is_an_argument(place: Path, other: Path) -> None:
    async def work(client: Client) -> Any:
        tools = (await client.list_tools()).tools
        assert {tuple(tool.input_schema["properties"]["collection"]["enum"]) for tool in tools} == {("one", "two")}
        assert (await fault(client, "show", key="x", collection="three")).startswith("collection: must be one of 'one'")
        return [await answer(client, "show", key="a"), await answer(client, "show", key="x", collection="two")]

    assert [one["key"] for one in connected(work, "-i", f"one={place}", "-i", f"two={other}")] == ["a", "x"]


def test_a_further_operation_is_a_tool(place: Path) -> None:
    async def work(client: Client) -> Any:
        return await answer(client, "pairs", k=1)

    (pair,) = connected(work, "-i", place, "--tool", "pairs")["pairs"]
    assert {pair["key"], pair["other"]} < {"a", "b", "c"}


@pytest.mark.usefixtures("chatter")
def test_what_an_operation_prints_does_not_reach_the_client(place: Path) -> None:
    said = run("-i", place, "--tool", "chatter", sent=[*OPENING, call(2, "chatter", words="hello")], until=2)
    assert said.answers[2]["result"]["structuredContent"] == {"said": "hello"}
    assert said.notes.count("hello") == 2
    assert said.code == 0


@pytest.mark.usefixtures("chatter")
def test_a_defect_is_an_error_of_the_protocol(place: Path) -> None:
    sent = [*OPENING, call(2, "chatter", words=""), call(3, "show", key="a")]
    said = run("-i", place, "--tool", "chatter", sent=sent, until=3)
    assert "error" in said.answers[2]
    assert said.answers[3]["result"]["structuredContent"]["key"] == "a"
    assert "ValueError: a defect" in said.notes


@pytest.mark.usefixtures("chatter")
def test_a_cancelled_call_stops_its_work(place: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with started("-i", place, "--tool", "chatter") as process:
        send(process, *OPENING, call(2, "chatter", words="x", until_stopped=str(begun)))
        wait_until(begun.exists)
        send(process, {"method": "notifications/cancelled", "params": {"requestId": 2}})
        wait_until(lambda: not begun.exists())
        process.communicate(timeout=HUNG)
        assert process.returncode == 0


@pytest.mark.unix
@pytest.mark.usefixtures("chatter")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("busy", [False, True])
def test_a_signal_ends_it(place: Path, tmp_path: Path, number: int, busy: bool) -> None:
    begun = tmp_path / "begun"
    with started("-i", place, "--tool", "chatter") as process:
        send(process, *OPENING)
        answered(process, 1)
        if busy:
            send(process, call(2, "chatter", words="x", until_stopped=str(begun)))
            wait_until(begun.exists)
        process.send_signal(number)
        assert process.wait(HUNG) == 0


@pytest.mark.unix
@pytest.mark.parametrize("closed", ["<&-", "</dev/null", ">&- </dev/null"])
def test_closed_streams_end_it(place: Path, closed: str) -> None:
    line = f'"{sys.executable}" -m moverank mcp -i "{place}" {closed}'
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.unix
def test_a_client_that_is_gone_ends_it(place: Path) -> None:
    with started("-i", place) as process:
        send(process, *OPENING)
        answered(process, 1)
        assert process.stdout is not None
        process.stdout.close()
        send(process, call(2, "show", key="a"))
        assert process.wait(HUNG) == 0


def test_a_line_that_is_no_message_does_no_harm(place: Path) -> None:
    said = run("-i", place, sent=["nonsense", *OPENING, call(2, "show", key="a")], until=2)
    assert said.answers[2]["result"]["structuredContent"]["key"] == "a"


def test_collections_and_operations_are_checked_first(place: Path, tmp_path: Path) -> None:
    for arguments, code, sentence in (
        (["-i", str(tmp_path / "nowhere")], 1, "there is no collection in "),
        (["-i", str(place), "-i", str(place)], 2, "two collections are called "),
        (["-i", str(place), "--tool", "watch"], 2, "'watch' is no operation that only reads: choose similar, rerank, "),
    ):
        said = run(*arguments, sent=[])
        assert (said.code, said.answers) == (code, {})
        assert said.notes.startswith(f"moverank: {sentence}")
        assert said.notes.count("\n") == 1


def test_the_configuration_of_the_manual_runs(place: Path) -> None:
    (text,) = [one.text for one in examples(PAGES["recipes"]) if one.info == "json mcp.json"]
    (server,) = json.loads(text)["mcpServers"].values()
    assert (server["command"], server["args"][0]) == ("moverank", "mcp")

    async def work(client: Client) -> Any:
        return (await client.list_tools()).tools

    arguments = [re.sub(r"^/.*", str(place), one) for one in server["args"][1:]]
    assert len(connected(work, *arguments)) == len(TOOLS)


def test_shards_answer_as_one_collection(factory: CollectionFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_local(monkeypatch)
    with created(factory) as shards:
        shards.index(DOCUMENTS)
        tools = ToolServer({"s": shards}, [OperationTool(operation_named(name), ("s",)) for name in TOOLS])

        def keys() -> list[str]:
            given = types.CallToolRequestParams(name="search", arguments={"query": "elk ant", "rank": "wmd"})
            found = anyio.run(tools.call_tool, None, given).structured_content
            return [hit["key"] for hit in found["hits"]]

        assert sorted(keys()) == ["a", "b", "c"]
        shards.index([document("new", "elk")])
        assert "new" in keys()
