"""Requests that are odd as HTTP: gzip, HEAD, types of bodies, methods, and characters that no answer could repeat."""

import gzip
import json
from collections.abc import Mapping
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

import pytest

from tests.indexer.plugins.serving.running import RunningServer
from tests.waiting import HUNG

SEARCH = "/collections/pets/search"
UPLOAD = "/collections/pets/documents"
QUERY = b'{"query": "dog", "k": 1}'


def _send(
    server: RunningServer, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of the answer to a request with these headers only."""
    connection = HTTPConnection(server.url.removeprefix("http://"), timeout=HUNG)
    try:
        connection.request(method, path, body, dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def _detail(body: bytes) -> str:
    detail: str = json.loads(body)["detail"]
    return detail


@pytest.mark.parametrize("declared", [{}, {"Content-Encoding": "gzip"}, {"Content-Encoding": "X-GZIP"}])
def test_a_body_may_be_gzip(writable: RunningServer, declared: dict[str, str]) -> None:
    headers = {"Content-Type": "application/json"} | declared
    plain = _send(writable, "POST", SEARCH, QUERY, {"Content-Type": "application/json"})
    packed = _send(writable, "POST", SEARCH, gzip.compress(QUERY), headers)
    assert (plain[0], packed[0]) == (200, 200)
    assert json.loads(packed[2])["hits"] == json.loads(plain[2])["hits"]
    lines = b"".join(b'{"id": "new%d", "text": "dog %d"}\n' % (i, i) for i in range(300))
    members = gzip.compress(lines[:5000]) + gzip.compress(lines[5000:])  # as `cat a.gz b.gz`
    status, _, body = _send(writable, "POST", UPLOAD, members, headers)
    assert (status, json.loads(body)["added"]) == (200, 300)


@pytest.mark.parametrize(
    ("body", "headers", "status", "sentence"),
    [
        (
            gzip.compress(QUERY)[:-9],
            {},
            400,
            "the gzip data of the body are damaged or cut short: the compressed data end",
        ),
        (gzip.compress(QUERY)[:14] + b"x" * 30, {}, 400, "the gzip data of the body are damaged or cut short"),
        (QUERY, {"Content-Encoding": "gzip"}, 400, "damaged or cut short: not a gzip file"),
        (gzip.compress(b" " * (9 << 20)), {}, 413, "at most 8,388,608 bytes are allowed"),
        (QUERY, {"Content-Encoding": "br"}, 415, "the body may be encoded by gzip, or not at all"),
    ],
    ids=["cut", "damaged", "plain", "long", "other"],
)
def test_a_bad_encoding_is_one_sentence(
    server: RunningServer, body: bytes, headers: dict[str, str], status: int, sentence: str
) -> None:
    found, answered, problem = _send(server, "POST", SEARCH, body, {"Content-Type": "application/json"} | headers)
    assert found == status
    assert sentence in _detail(problem)
    assert answered.get("accept-encoding") == ("gzip" if status == 415 else None)


def test_damaged_gzip_of_an_upload_stores_nothing(writable: RunningServer) -> None:
    body = gzip.compress(b'{"id": "new", "text": "dog"}\n' * 1000)
    for damaged in (body[:-9], body[:40] + b"x" * 40):
        assert _send(writable, "POST", UPLOAD, damaged)[0] == 400
    assert writable.ask("/collections/pets").json["revision"] == 1


@pytest.mark.parametrize(
    "path", ["/", "/?q=dog", "/health", "/collections", "/collections/pets", "/metrics", "/nowhere"]
)
def test_head_has_the_headers_of_get(server: RunningServer, path: str) -> None:
    head, get = _send(server, "HEAD", path), _send(server, "GET", path)
    assert (head[0], head[2]) == (get[0], b"")
    varying = {"content-length", "date", "x-request-id"}
    assert {name: head[1][name] for name in head[1].keys() - varying} == {
        name: get[1][name] for name in get[1].keys() - varying
    }
    assert "content-length" in head[1]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", SEARCH, "GET, HEAD, POST"),
        ("PATCH", "/collections/pets/documents/t1", "GET, HEAD, PUT, DELETE"),
        ("HEAD", "/rerank", "POST"),
        ("INVENTED", UPLOAD, "GET, HEAD, POST, DELETE"),
        ("OPTIONS", "/health", "GET, HEAD"),
    ],
)
def test_a_wrong_method_names_the_right_ones(server: RunningServer, method: str, path: str, allowed: str) -> None:
    status, headers, _ = _send(server, method, path)
    assert (status, headers["allow"]) == (405, allowed)


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data", "nonsense"])
def test_json_of_another_type_names_the_header(server: RunningServer, kind: str) -> None:
    status, _, problem = _send(server, "POST", SEARCH, QUERY, {"Content-Type": kind})
    assert status == 415
    sentence = "send the JSON with the header `Content-Type: application/json` (curl has --json for that)"
    assert _detail(problem) == f"{sentence}, not as {kind}"


def test_json_of_a_type_without_a_name_names_the_header(server: RunningServer) -> None:
    status, _, problem = _send(server, "POST", SEARCH, QUERY, {"Content-Type": ";;;\xff"})
    assert (status, _detail(problem).partition(", ")[2]) == (415, "not as a type without a name")


@pytest.mark.parametrize("kind", [None, "application/json; charset=utf-8", "application/vnd.search+json"])
def test_json_with_and_without_its_type_is_read(server: RunningServer, kind: str | None) -> None:
    assert _send(server, "POST", SEARCH, QUERY, {"Content-Type": kind} if kind else {})[0] == 200


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (b"", 422, "there is no body: send a JSON object"),
        (b"[1]", 422, "the body must be a JSON object"),
        (b'{"query":', 422, "the body is broken JSON at character 9: Expecting value"),
        (b'{"query": "\xff"}', 400, "the body is no JSON: it is not UTF-8"),
        (b"[" * 100_000, 400, "the body is no JSON"),
        (b'{"k": ' + b"1" * 5000 + b"}", 400, "the body is no JSON"),
    ],
    ids=["empty", "array", "broken", "not UTF-8", "deep", "long number"],
)
def test_a_body_that_is_no_json_object(server: RunningServer, body: bytes, status: int, sentence: str) -> None:
    found, _, problem = _send(server, "POST", SEARCH, body, {"Content-Type": "application/json"})
    assert (found, _detail(problem)[: len(sentence)]) == (status, sentence)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (SEARCH, {"query": "dog \ud83d"}),
        (SEARCH, {"query": {"text": "dog", "\udc00": "x"}}),
        (SEARCH, {"query": "dog", "where": {"label": "\ud800"}}),
        (SEARCH, {"queries": ["dog", "\ud800"]}),
        ("/collections/pets/explain", {"query": "dog", "key": "\ud800"}),
        ("/rerank", {"query": "dog", "texts": ["cat", "\ud800"]}),
        ("/v1/rerank", {"query": "dog", "documents": [{"text": "cat", "id": "\ud800"}], "return_documents": True}),
    ],
)
def test_half_of_a_character_is_named(server: RunningServer, path: str, value: Any) -> None:
    status, _, problem = _send(server, "POST", path, json.dumps(value).encode(), {"Content-Type": "application/json"})
    assert status == 422
    assert "half of a surrogate pair: take it out" in _detail(problem)
    whole = json.dumps(value).replace("\\ud83d", "\\ud83d\\ude00").replace("\\ud800", "\\ud83d\\ude00")
    assert b"surrogate" not in _send(server, "POST", path, whole.replace("\\udc00", "x").encode())[2]


@pytest.mark.parametrize("text", ["\0", "dog\0", b"\xed\xa0\x80", b"\xff"])
def test_odd_characters_of_an_address_are_no_fault_of_the_server(server: RunningServer, text: str | bytes) -> None:
    odd = quote(text)
    for path in (f"{SEARCH}?q={odd}", f"{SEARCH}?q=dog&where={odd}", f"{SEARCH}?q=dog&rank={odd}", f"/?q={odd}"):
        assert _send(server, "GET", path)[0] in (200, 422)
    for path in (f"{UPLOAD}/{odd}", f"/collections/{odd}", f"/static/{odd}", f"/{odd}", f"/?similar={odd}"):
        assert _send(server, "GET", path)[0] == 404
