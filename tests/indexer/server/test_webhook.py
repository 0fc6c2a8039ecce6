"""The webhook: each event at least once, in order, signed, whatever the receiver answers and when the server dies."""

import base64
import hashlib
import hmac
import json
import re
import shutil
import signal
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra `server` is not installed")

from moverank import Collection
from moverank.indexer.server.webhook import Receiver, _NotDelivered
from tests.indexer.commands.program import Call, program
from tests.indexer.server.conftest import index_planes
from tests.indexer.server.running import RunningServer
from tests.waiting import wait_until

KEYS = [bytes(range(32)), bytes(range(100, 148))]
SECRETS = [f"whsec_{base64.b64encode(key).decode()}" for key in KEYS]


class Target(ThreadingHTTPServer):
    """A receiver: `answers` are the statuses of the next requests, after them 204; all requests are kept."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[dict[str, str], bytes, int]] = []
        self.answers: list[int] = []
        self.delay = 0.0
        self.url = f"http://127.0.0.1:{self.server_address[1]}/hook?token=hidden"

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body, _ in self.requests]

    @property
    def accepted(self) -> list[tuple[str, int]]:
        """Return the collection and the number of each event that was answered by success."""
        events = [(body["collection"], body["data"]["number"]) for body in self.bodies]
        return [event for event, (*_, status) in zip(events, self.requests, strict=False) if status < 300]


class _Handler(BaseHTTPRequestHandler):
    server: Target

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(self.server.delay)
        status = self.server.answers.pop(0) if self.server.answers else 204
        self.server.requests.append(({name.lower(): value for name, value in self.headers.items()}, body, status))
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST  # noqa: N815 - the name that the base class calls

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def target() -> Iterator[Target]:
    with Target() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secrets"
    file.write_text(f"# the newer one first\n{SECRETS[0]}\n{SECRETS[1]}  # until Monday\n")
    return file


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    return program(monkeypatch, capsys)


def _events(directory: Path) -> list[int]:
    with Collection.open(directory) as pets:
        return [event.number for event in pets.events(limit=10000)]


def _metrics(running: RunningServer) -> dict[str, float]:
    lines = running.ask("/metrics").body.decode().splitlines()
    found = (re.fullmatch(r"moverank_(webhook_\w+)(\{.*\}) (.*)", line) for line in lines)
    return {one[1] + one[2].replace('"', ""): float(one[3]) for one in found if one and "_created" not in one[1]}


def _check_signature(headers: dict[str, str], body: bytes) -> None:
    """Check the headers of a request as a receiver does: Standard Webhooks 1.0."""
    content = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body])
    signatures = headers["webhook-signature"].split(" ")
    made = [base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode() for key in KEYS]
    assert signatures == [f"v1,{one}" for one in made]
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 300
    assert "." not in headers["webhook-id"]


def test_each_event_arrives_signed_in_order_after_failures(
    watched: Path, secret: Path, target: Target, tmp_path: Path
) -> None:
    """The signatures are computed here by the specification."""
    index_planes(watched, "a")
    target.answers = [500, 302, 204, 503]
    running = RunningServer("-i", watched, "--webhook", target.url, "--webhook-secret", secret, log=tmp_path / "log")
    try:
        wait_until(lambda: len(target.accepted) == 1)
        line = json.dumps({"id": "b", "text": "a plane"}) + "\n" + json.dumps({"id": "c", "text": "a train"})
        assert running.ask("/collections/pets/documents", line.encode()).json["events"] == 2
        wait_until(lambda: len(target.accepted) == 3)
        wait_until(lambda: _metrics(running)["webhook_behind{collection=pets}"] == 0)
        assert _metrics(running) == {
            "webhook_requests_total{collection=pets,outcome=delivered}": 3,
            "webhook_requests_total{collection=pets,outcome=failed}": 3,
            "webhook_behind{collection=pets}": 0,
        }
        listed = running.ask("/collections/pets/events").json["events"]
    finally:
        assert running.stop() == 0
    assert [body["data"] for body in target.bodies] == [listed[i] for i in (0, 0, 0, 1, 1, 2)]
    assert {(body["type"], body["collection"]) for body in target.bodies} == {("watch", "pets")}
    for headers, body, _ in target.requests:
        _check_signature(headers, body)
        assert headers["content-type"] == "application/json"
    ids = [headers["webhook-id"] for headers, *_ in target.requests]
    assert ids[0] == ids[1] == ids[2] != ids[3] == ids[4] != ids[5]
    log = running.log.read_text()
    address = target.url.partition("/hook")[0]
    for reason in ("500", "302", "503"):
        assert f"was not delivered to {address}: it answered {reason}" in log
    assert "hidden" not in log
    assert SECRETS[0][6:] not in log
    assert "Traceback" not in log


def test_a_killed_server_goes_on_where_it_was(watched: Path, secret: Path, target: Target, tmp_path: Path) -> None:
    target.delay = 0.02
    for number in range(3):
        index_planes(watched, *(f"{number}-{i}" for i in range(40)))
        before = len(target.accepted)
        running = RunningServer(
            "-i", watched, "--webhook", target.url, "--webhook-secret", secret, log=tmp_path / f"log{number}"
        )
        wait_until(lambda: len(target.accepted) >= before + 15)  # noqa: B023 - called at once
        running.stop(signal.SIGKILL)
    target.delay = 0.0
    running = RunningServer("-i", watched, "--webhook", target.url, "--webhook-secret", secret, log=tmp_path / "log")
    events = _events(watched)
    assert len(events) == 120
    wait_until(lambda: target.accepted[-1][1] == events[-1])
    wait_until(lambda: _metrics(running)["webhook_behind{collection=pets}"] == 0)
    assert running.stop() == 0
    numbers = [number for _, number in target.accepted]
    assert list(dict.fromkeys(numbers)) == events  # each one, first in the order of the events
    before = len(numbers)
    running = RunningServer("-i", watched, "--webhook", target.url, "--webhook-secret", secret, log=tmp_path / "again")
    index_planes(watched, "last")
    wait_until(lambda: len(target.accepted) > before)
    assert running.stop() == 0
    assert [number for _, number in target.accepted[before:]] == [_events(watched)[-1]]  # none again after a clean end


def test_one_of_several_processes_delivers(watched: Path, secret: Path, target: Target, tmp_path: Path) -> None:
    running = RunningServer(
        "-i", watched, "--processes", "2", "--webhook", target.url, "--webhook-secret", secret, log=tmp_path / "log"
    )
    try:
        for key in "abcd":
            reply = running.ask(f"/collections/pets/documents/{key}", {"text": "a plane"}, method="PUT")
            assert reply.json["events"] == 1
        wait_until(lambda: len(target.accepted) == 4)
        time.sleep(1)
        assert [number for _, number in target.accepted] == _events(watched)
        assert _metrics(running)["webhook_requests_total{collection=pets,outcome=delivered}"] == 4
    finally:
        assert running.stop() == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--webhook", "https://x.example/a"), "--webhook URL and --webhook-secret FILE belong together"),
        (("--webhook-secret", "SECRET"), "--webhook URL and --webhook-secret FILE belong together"),
        (("--webhook", "https://x.example", "--webhook-secret", "SECRET", "--read-only"), "a --read-only server"),
        (("--webhook", "ftp://x.example", "--webhook-secret", "SECRET"), "begins with https:// or http:// and a host"),
        (("--webhook", "https://", "--webhook-secret", "SECRET"), "begins with https:// or http:// and a host"),
        (("--webhook", "http://[x", "--webhook-secret", "SECRET"), "begins with https:// or http:// and a host"),
        (("--webhook", "http://x:99999", "--webhook-secret", "SECRET"), "begins with https:// or http:// and a host"),
        (("--webhook", "http://ä.example", "--webhook-secret", "SECRET"), "encode them"),
        (("--webhook", "http://a:b@x.example", "--webhook-secret", "SECRET"), "a name and a password"),
        (("--webhook", "https://x.example", "--webhook-secret", "missing"), "missing: the secrets cannot be read"),
    ],
)
def test_what_cannot_be_a_webhook_is_refused(
    call: Call, pets: Path, secret: Path, options: tuple[str, ...], sentence: str
) -> None:
    found = call("serve", "-i", pets, *(secret if one == "SECRET" else one for one in options))
    assert found.code == 2
    assert sentence in found.sentence


@pytest.mark.parametrize("content", [SECRETS[0][6:], "whsec_short", "whsec_!!!", f"whsec_{'A' * 100}", "# none"])
def test_an_invalid_secret_is_refused(call: Call, pets: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "secret").write_text(content)
    found = call("serve", "-i", pets, "--webhook", "https://x.example", "--webhook-secret", tmp_path / "secret")
    assert found.code == 2
    assert "`whsec_` and the base64 of 24 to 64 random bytes" in found.sentence
    assert content not in found.sentence or content == "# none"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_receiver_without_a_valid_certificate_gets_nothing(secret: Path, target: Target, tmp_path: Path) -> None:
    """The certificate is self-signed."""
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    target.socket = context.wrap_socket(target.socket, server_side=True)
    with pytest.raises(_NotDelivered, match="CERTIFICATE_VERIFY_FAILED"):
        Receiver.of(target.url.replace("http:", "https:"), secret).send("id", b"{}")
    assert target.requests == []


def test_what_is_no_answer_is_a_failure(secret: Path, target: Target) -> None:
    url = target.url.rpartition(":")[0]
    for wrong in (f"{url}:1/hook", "http://a..b/"):
        with pytest.raises(_NotDelivered):
            Receiver.of(wrong, secret).send("id", b"{}")
