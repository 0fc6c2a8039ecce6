"""Nobody gets in who must not: hosts, tokens, sizes, slow and broken clients."""

import base64
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.indexer.commands.program import Call, program
from tests.indexer.plugins.serving.running import RunningServer
from tests.waiting import HUNG

TOKEN = "a-token-of-24-characters"  # noqa: S105 - of the test


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return program(monkeypatch, capsys)


@pytest.fixture(scope="module")
def guarded(pets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "token").write_text(f"{TOKEN}\n")
    options = ("--token-file", folder / "token", "--allow-host", "Search.example", "--cors", "https://app.example")
    running = RunningServer("-i", f"forum={pets}", *options, log=folder / "log")
    yield running
    running.stop()


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "10.0.0.7"])
def test_another_host_name_is_refused(server: RunningServer, host: str) -> None:
    reply = server.ask("/health", headers={"Host": host})
    assert (reply.status, reply.json["detail"]) == (421, "this server has another name: --allow-host adds one")


def test_the_token_is_needed(guarded: RunningServer) -> None:
    assert guarded.ask("/health", headers={"Host": "search.example:80"}).status == 200
    assert guarded.ask("/ready").status == 200
    assert guarded.ask("/metrics").status == 401
    basic = base64.b64encode(f"anyone:{TOKEN}".encode()).decode()
    for wrong in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Digest {TOKEN}"},
        {"Authorization": "Basic !"},
    ):
        reply = guarded.ask("/collections", headers=wrong)
        assert reply.status == 401
        assert reply.headers["WWW-Authenticate"] == 'Basic realm="moverank", Bearer realm="moverank"'
        assert TOKEN not in reply.body.decode()
    for right in (f"Bearer {TOKEN}", f"Basic {basic}"):
        assert guarded.ask("/collections", headers={"Authorization": right}).json["collections"][0]["name"] == "forum"


def test_metrics_need_no_token_where_that_is_wanted(pets: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    options = ("--token-file", tmp_path / "token", "--open-metrics")
    running = RunningServer("-i", pets, *options, log=tmp_path / "log")
    try:
        answers = {
            each: running.ask(each).status for each in ("/health", "/ready", "/metrics", "/collections", "/info")
        }
        evil = running.ask("/metrics", headers={"Host": "evil.example"}).status
    finally:
        running.stop()
    assert answers == {"/health": 200, "/ready": 200, "/metrics": 200, "/collections": 401, "/info": 401}
    assert evil == 421


def test_pages_of_named_origins_only(guarded: RunningServer, server: RunningServer) -> None:
    headers = {"Origin": "https://app.example", "Authorization": f"Bearer {TOKEN}"}
    assert guarded.ask("/collections", headers=headers).headers["Access-Control-Allow-Origin"] == "https://app.example"
    other = guarded.ask("/collections", headers=headers | {"Origin": "https://evil.example"})
    assert (other.status, "Access-Control-Allow-Origin" in other.headers) == (403, False)
    assert "Access-Control-Allow-Origin" not in server.ask("/collections", headers=headers).headers


def test_a_browser_asks_without_the_token_whether_a_page_may_send_a_request(guarded: RunningServer) -> None:
    asked = {
        "Origin": "https://app.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    reply = guarded.ask("/rerank", method="OPTIONS", headers=asked)
    assert (reply.status, reply.body) == (204, b"")
    assert reply.headers["Access-Control-Allow-Headers"] == "authorization,content-type"
    assert "POST" in reply.headers["Access-Control-Allow-Methods"]
    other = guarded.ask("/rerank", method="OPTIONS", headers=asked | {"Origin": "https://evil.example"})
    assert (other.status, "Access-Control-Allow-Origin" in other.headers) == (403, False)
    assert guarded.ask("/rerank", method="OPTIONS", headers={"Origin": "https://app.example"}).status == 401
    assert guarded.ask("/rerank", {}, headers=asked).status == 401  # a request like any other


_IMAGE = {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
_LINK = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Sec-Fetch-User": "?1"}
_REDIRECT = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/?q=dog", _IMAGE, 403),
        ("/collections/pets/search?q=dog", _IMAGE, 403),
        ("/collections/pets/view/t1?q=dog", _IMAGE | {"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate"}, 403),
        ("/collections/pets/view?q=dog&key=t2&why=1", _IMAGE, 403),
        ("/duplicates", _IMAGE, 403),
        ("/collections/pets/search?q=dog", {}, 403),
        ("/?q=dog", _REDIRECT, 403),
        ("/?q=dog", _LINK, 200),
        ("/", _REDIRECT, 200),
        ("/health", _IMAGE, 200),
        ("/collections/pets/search?q=dog", {"Sec-Fetch-Site": "same-origin"}, 200),
        ("/collections/pets/search?q=dog", {"Sec-Fetch-Site": "none"} | _REDIRECT, 200),
    ],
)
def test_pages_of_other_origins_start_no_work(
    server: RunningServer, site: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert server.ask(path, headers={"Sec-Fetch-Site": site} | headers).status == status


def test_forms_of_other_pages_change_nothing(writable: RunningServer) -> None:
    body = b'{"id": "evil", "text": "dog"}'
    path = "/collections/pets/documents"
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        reply = writable.ask(path, body, headers={"Content-Type": "text/plain"} | headers)
        assert reply.status == 403
        assert "pages of another origin" in reply.json["detail"]
    assert writable.ask(path, body, headers={"Origin": writable.url}).json["added"] == 1


def test_every_answer_has_the_headers_of_safety(server: RunningServer) -> None:
    for path in ("/collections", "/nowhere", "/health"):
        headers = server.ask(path).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "server" not in {name.lower() for name in headers}


def test_a_body_that_is_too_long_is_refused(server: RunningServer) -> None:
    reply = server.ask("/rerank", headers={"Content-Length": str(9 * 2**20)})
    assert reply.status == 413
    assert "at most 8,388,608 bytes" in reply.json["detail"]


def _raw(server: RunningServer, *parts: bytes, pause: float = 0.0) -> bytes:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=HUNG) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        connection.settimeout(10)
        return connection.recv(65536)


def test_a_chunked_body_is_counted(server: RunningServer) -> None:
    head = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    assert b" 413 " in _raw(server, head, *[chunk] * 9)


def test_broken_and_silent_clients_do_not_stop_others(server: RunningServer) -> None:
    assert b" 400 " in _raw(server, b"\x16\x03\x01 no http\r\n\r\n")
    host, port = server.url.removeprefix("http://").split(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(200)]
    silent[0].sendall(b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
    assert server.ask("/health").status == 200
    assert server.ask("/collections/pets/search", {"query": "dog"}).status == 200
    for connection in silent:
        connection.close()


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("--host", "0.0.0.0"), 2, "0.0.0.0 can be reached by others: give --token-file FILE, or --no-auth"),  # noqa: S104
        (("--token-file", "nowhere"), 2, "nowhere: the tokens cannot be read: No such file or directory"),
        (("--cors", "*"), 2, "--cors '*' would let the pages of every web site use this server: name each origin"),
        (("--cors", "app.example"), 2, "--cors 'app.example' is not the origin of a page: write scheme://host"),
        (("--cors", "https://app.example/"), 2, "without a path or a slash at the end, such as https://app.example"),
        (("--cors", "https://app.example/x"), 2, "--cors 'https://app.example/x' is not the origin of a page"),
        (("--cors", "https://*.example"), 2, "--cors 'https://*.example' is not the origin of a page"),
        (("--cors", "https://a@b.example"), 2, "is not the origin of a page"),
        (("--cors", "file:///x"), 2, "is not the origin of a page"),
        (("--cors", "null"), 2, "--cors 'null' is not the origin of a page"),
        (("--cors", ""), 2, "--cors '' is not the origin of a page"),
        (("--proxy", "nginx"), 2, "--proxy 'nginx': 'nginx' does not appear to be an IPv4 or IPv6 network"),
        (("--proxy", "10.0.0.1/8"), 2, "--proxy '10.0.0.1/8': 10.0.0.1/8 has host bits set"),
        (("--proxy", "::/0"), 2, "--proxy '::/0': all clients could send any address as theirs"),
        (("--host", "192.0.2.1", "--no-auth"), 2, "cannot listen at 192.0.2.1"),
        (("-i", "nowhere"), 1, "there is no collection in nowhere"),
        (("-i", "=x"), 2, "the name of a collection must not be empty"),
        (("-i", "a=x", "-i", "a=y"), 2, "two collections are called 'a': name one of them"),
    ],
)
def test_wrong_usage_is_one_sentence(
    call: Call, pets: Path, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    given = arguments if "-i" in arguments else ("-i", str(pets), *arguments)
    found = call("serve", "--port", "0", *given)
    assert found.code == code
    assert sentence in found.sentence


def test_a_port_in_use_is_named(call: Call, pets: Path, server: RunningServer) -> None:
    port = server.url.rpartition(":")[2]
    found = call("serve", "-i", pets, "--port", port)
    assert (found.code, found.sentence) == (2, f"cannot listen at 127.0.0.1:{port}: Address already in use")
