"""Requests that a proxy in front of the server could divide otherwise are refused, and their connection is closed."""

import socket

import pytest

from tests.indexer.plugins.serving.running import RunningServer

_GOOD = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
_HIDDEN = b"GET /collections/pets HTTP/1.1\r\nHost: localhost\r\n\r\n"


def _answers(server: RunningServer, *pieces: bytes) -> bytes:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        for piece in pieces:
            connection.sendall(piece)
        received = b""
        while part := connection.recv(1 << 16):
            received += part
        return received


@pytest.mark.parametrize(
    "request_",
    [
        (_GOOD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + _HIDDEN,),
        (_GOOD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + _HIDDEN,),
        (b"GET /collections/pets HTTP/1.1\nHost: localhost\n\n",),
        (b"GET /collections/pets HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",),
        (b"GET /collections/pets HTTP/1.1\r\nHost: localhost\r\nX: y\r\n Transfer-Encoding: chunked\r\n\r\n",),
        (b"GET /collections/pets HTTP/1.1\r\nHost: localhost\r\nX: y\r", b"\n\tTransfer-Encoding: chunked\r\n\r\n"),
        (b"GET /collections/pets HTTP/1.1\r\nHost: localho", b"st\nX: y\r\n\r\n"),
    ],
    ids=["length first", "encoding first", "LF", "one LF", "folded", "folded in pieces", "LF in pieces"],
)
def test_an_ambiguous_request_is_refused(server: RunningServer, request_: tuple[bytes, ...]) -> None:
    received = _answers(server, *request_)
    assert received.count(b"HTTP/1.1 ") == 1
    assert received.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in received


def test_a_request_after_another_is_refused_too(server: RunningServer) -> None:
    received = _answers(server, _HIDDEN + b"GET /health HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n")
    assert received.count(b"HTTP/1.1 200 ") == 1
    assert received.count(b"HTTP/1.1 ") <= 2


def test_requests_in_pieces_and_one_after_another_are_answered(server: RunningServer) -> None:
    whole = _HIDDEN + b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert _answers(server, whole).count(b"HTTP/1.1 200 ") == 2
    assert _answers(server, *(whole[i : i + 1] for i in range(len(whole)))).count(b"HTTP/1.1 200 ") == 2
