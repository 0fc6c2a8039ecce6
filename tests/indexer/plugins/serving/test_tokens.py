"""Tokens: several, changed while the server runs, and wrong ones, which are logged and answered late."""

import asyncio
import base64
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `server` is not installed")

from moverank.indexer.plugins.serving.guard import checked_origin
from moverank.indexer.plugins.serving.problems import HttpProblem
from moverank.indexer.plugins.serving.tokens import WrongTokens
from tests.indexer.commands.program import Call, program
from tests.indexer.plugins.serving.running import RunningServer
from tests.waiting import wait_until

FIRST, SECOND = "the-first-token-of-ada", "the-second-token-of-bob"


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return program(monkeypatch, capsys)


def _status(server: RunningServer, token: str) -> int:
    return server.ask("/collections", headers={"Authorization": f"Bearer {token}"}).status


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("short", ":1: a token needs 16 characters or more, without spaces"),
        (f"# the team\n{FIRST} {SECOND}\n", ":2: a token needs 16 characters or more, without spaces"),
        ("\n# nobody yet\n", ": there is no token in it: write one on each line, of 16 characters or more"),
    ],
)
def test_an_invalid_file_is_refused(call: Call, pets: Path, tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "token").write_text(content)
    found = call("serve", "-i", pets, "--token-file", tmp_path / "token")
    assert (found.code, found.sentence) == (2, f"{tmp_path / 'token'}{sentence}")


@pytest.mark.parametrize("processes", [(), ("--processes", "2")])
def test_tokens_change_while_the_server_runs(pets: Path, tmp_path: Path, processes: tuple[str, ...]) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# one a line\n{FIRST}  # Ada\n\n{SECOND}\n")
    running = RunningServer("-i", pets, "--token-file", file, *processes, log=tmp_path / "log")
    try:
        assert [_status(running, FIRST), _status(running, SECOND)] == [200, 200]
        basic = base64.b64encode(f"bob:{SECOND}".encode()).decode()
        assert running.ask("/collections", headers={"Authorization": f"Basic {basic}"}).status == 200
        file.write_text(f"{SECOND}\n")
        # Each of ten requests may reach another process.
        wait_until(lambda: [_status(running, FIRST) for _ in range(10)] == [401] * 10)
        assert _status(running, SECOND) == 200
        for unreadable in (file.unlink, lambda: file.write_text("short"), lambda: file.write_bytes(b"\xff" * 20)):
            unreadable()
            assert {_status(running, SECOND) for _ in range(10)} == {200}
        file.write_text(f"{FIRST}\n")
        wait_until(lambda: [_status(running, FIRST) for _ in range(10)] == [200] * 10)
    finally:
        running.stop()
    log = running.log.read_text()
    assert f"{file}: the tokens cannot be read: No such file or directory; the tokens that were read before" in log
    assert log.count("a token needs 16 characters or more") <= 2  # once in each process
    assert FIRST not in log
    assert SECOND not in log
    assert "Traceback" not in log


def test_wrong_tokens_are_logged_and_answered_late_but_block_nobody(pets: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{FIRST}\n")
    running = RunningServer("-i", pets, "--token-file", tmp_path / "token", log=tmp_path / "log")
    try:
        assert running.ask("/collections").status == 401  # a browser that has not been asked for a token
        assert "a wrong token" not in running.log.read_text()
        statuses, waiting = list[int](), 0
        while not waiting and len(statuses) < 400:  # on a busy machine, the right ones may take longer than the pause
            with ThreadPoolExecutor(40) as pool:
                guesses = [pool.submit(_status, running, f"a-wrong-guess-{i}-xxxx") for i in range(40)]
                assert [_status(running, FIRST) for _ in range(5)] == [200] * 5
                waiting = sum(not guess.done() for guess in guesses)
                statuses += [guess.result() for guess in guesses]
    finally:
        running.stop()
    assert waiting  # right tokens were answered before wrong ones
    assert set(statuses) == {401, 429}
    log = running.log.read_text()
    assert re.findall(r"a wrong token from (\S+) \((\d+) so far\)", log) == [
        ("127.0.0.1", str(2**i)) for i in range(len(statuses).bit_length())
    ]
    assert "guess" not in log


@pytest.mark.parametrize(
    ("options", "network"),
    [
        ((), "127.0.0.1"),
        (("--processes", "2"), "127.0.0.1"),
        (("--proxy", "127.0.0.0/8"), "10.9.8."),
        (("--proxy", "10.9.8.0/24"), "127.0.0.1"),
    ],
)
def test_only_a_named_proxy_says_which_client_sent_a_wrong_token(
    pets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], network: str
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # uvicorn reads it by default
    (tmp_path / "token").write_text(f"{FIRST}\n")
    running = RunningServer("-i", pets, "--token-file", tmp_path / "token", *options, log=tmp_path / "log")

    def guess(i: int) -> int:
        sent = {"Authorization": "Bearer a-wrong-guess-xxxx", "X-Forwarded-For": f"6.6.6.{i}, 10.9.8.{i}"}
        return running.ask("/collections", headers=sent).status

    try:
        with ThreadPoolExecutor(24) as pool:
            statuses = set(pool.map(guess, range(24)))
    finally:
        running.stop()
    assert statuses == ({401} if network == "10.9.8." else {401, 429})
    found = re.findall(r"a wrong token from (\S+)", running.log.read_text())
    assert found
    assert all(address.startswith(network) for address in found)


def test_so_many_addresses_are_remembered(caplog: pytest.LogCaptureFixture) -> None:
    wrong = WrongTokens()

    async def many() -> None:
        for client in ["10.1.0.0"] * 3 + [f"10.0.{i // 256}.{i % 256}" for i in range(1500)] + ["10.1.0.0"] * 3:
            await wrong.pause(client)

    asyncio.run(many())
    assert [line for line in caplog.messages if "10.1.0.0" in line] == [
        f"a wrong token from 10.1.0.0 ({count} so far)" for count in (1, 2, 1, 2)
    ]


def test_a_network_of_ipv6_is_one_client() -> None:
    wrong = WrongTokens()

    async def many() -> list[object]:
        one = [wrong.pause(f"2001:db8::{i:x}") for i in range(1, 40)]
        return await asyncio.gather(*one, wrong.pause("2001:db8:0:1::1"), return_exceptions=True)

    *one, other = asyncio.run(many())
    assert any(isinstance(found, HttpProblem) and found.status_code == 429 for found in one)
    assert other is None


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://app.example", "https://app.example"),
        ("HTTPS://App.Example:443", "https://app.example"),
        ("http://localhost:3000", "http://localhost:3000"),
        ("http://[::1]:80", "http://[::1]"),
        ("chrome-extension://abcdefgh", "chrome-extension://abcdefgh"),
    ],
)
def test_an_origin_is_compared_as_browsers_write_it(text: str, origin: str) -> None:
    assert checked_origin(text) == origin
