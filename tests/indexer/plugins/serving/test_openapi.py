"""The OpenAPI document: valid, complete, and true of real answers and problems."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from moverank.indexer.plugins.serving.limits import Limits
from tests.indexer.plugins.serving.running import Reply, RunningServer

Object = dict[str, Any]
LIMITS = Limits()
SEARCH = "/collections/{name}/search"
DOCUMENT = "/collections/{name}/documents/{key}"
THREAD = {"title": "Dog", "body": "the dog sleeps", "comments": [{"text": "wine"}]}
SECRET = "a" * 16


@pytest.fixture(scope="module")
def document(server: RunningServer) -> Object:
    found: Object = server.ask("/openapi.json").json
    return found


def test_the_document_is_valid(document: Object) -> None:
    validator = pytest.importorskip("openapi_spec_validator", reason="the extra `clients` is not installed")
    validator.validate(document)


def operations(document: Object) -> Iterator[tuple[str, Object]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def schemas(schema: Any, place: str) -> Iterator[tuple[str, Object]]:
    """Yield every schema within one, and where it stands."""
    if isinstance(schema, dict):
        yield place, schema
        for name, one in schema.items():
            yield from schemas(one, f"{place}.{name}")
    elif isinstance(schema, list):
        for i, one in enumerate(schema):
            yield from schemas(one, f"{place}[{i}]")


def test_everything_is_described(document: Object) -> None:
    missing = []
    for name, operation in operations(document):
        missing += [] if operation["description"] else [name]
        missing += [f"{name} {one['name']}" for one in operation.get("parameters", ()) if not one.get("description")]
        body = operation.get("requestBody", {"content": {}})
        inline = [one["schema"] for one in body["content"].values() if "$ref" not in one["schema"]]
        missing += [f"{name} body"] if inline and "'description'" not in repr(body) else []
    for name, schema in document["components"]["schemas"].items():
        missing += [] if schema.get("description") else [name]
        for place, one in schemas(schema, name):
            fields = one.get("properties", {}) if one.get("type") == "object" else {}
            missing += [f"{place}.{field}" for field, about in fields.items() if not about.get("description")]
    assert missing == []


def test_answers_have_named_types(document: Object) -> None:
    for name, operation in operations(document):
        content = operation["responses"]["200"]["content"]
        if name == "GET /collections/{name}/events/stream":
            assert set(content) == {"text/event-stream"}
        elif name != "GET /metrics":
            schema = content["application/json"]["schema"]
            for one in schema.get("anyOf", [schema]):
                assert (one.get("items") or one)["$ref"].endswith("Object"), name
    assert not {"HTTPValidationError", "ValidationError"} & set(document["components"]["schemas"])


def test_limits_are_those_of_the_server(document: Object) -> None:
    def most(schema: str, field: str) -> int:
        one = document["components"]["schemas"][schema]["properties"][field]
        (found,) = (part[name] for part in one.get("anyOf", [one]) for name in ("maximum", "maxItems") if name in part)
        return int(found)

    assert most("SearchBody", "k") == most("SimilarBody", "k") == LIMITS.k
    assert most("WhyNotBody", "depth") == LIMITS.depth
    assert most("SearchBody", "queries") == LIMITS.batch
    for schema, field in [("InferenceBody", "texts"), ("InferenceBody", "documents"), ("RerankTextsBody", "documents")]:
        assert most(schema, field) == most("RerankBody", "keys") == LIMITS.texts
    assert "maximum" not in repr(document["components"]["schemas"]["RerankBody"])
    parameters = {one["name"]: one["schema"] for one in document["paths"][SEARCH]["get"]["parameters"]}
    assert parameters["k"]["maximum"] == LIMITS.k
    options = set(document["components"]["schemas"]["SimilarBody"]["properties"]) - {"key"}
    assert set(parameters) == {"name", "q", "where"} | options


def closed(document: Object) -> Object:
    """Return the document with objects that have no other fields than the described ones."""
    found = copy.deepcopy(document)
    for _, schema in schemas(found["components"]["schemas"], ""):
        if isinstance(schema.get("properties"), dict) and "type" in schema:
            schema.setdefault("additionalProperties", False)
    return found


def check(document: Object, method: str, path: str, reply: Reply) -> None:
    """Fail unless an answer is declared with its status and media type, and has the declared form."""
    jsonschema = pytest.importorskip("jsonschema", reason="the extra `clients` is not installed")
    declared = document["paths"][path][method]["responses"]
    assert str(reply.status) in declared, (method, path, reply.status, reply.body)
    (content,) = declared[str(reply.status)]["content"].items()
    assert reply.headers.get_content_type() == content[0]
    if content[0] != "text/plain":
        schema = content[1]["schema"] | {"components": closed(document)["components"]}
        jsonschema.Draft202012Validator(schema).validate(reply.json)


QUERIES: list[Object] = [
    {"query": "dog and wine"},
    {"query": "dog xyzzy", "explain": True, "full": True, "rank": "wmd+0.5*bm25+0.1*wcd"},
    {"query": THREAD, "rank": "bm25", "k": 2},
    {"query": "red dog", "exact": True, "rank": "pwmd", "budget": 5},
    {"query": "dog", "where": ["year>=2020"], "group_by": "year"},
    {"query": "dog", "where": {"year": 1999}},
    {"query": "dog", "max_distance": 0.0},
    {"query": "dog", "max_distance": "0.5%"},
    {"query": "dog", "percentile": True},
    {"queries": ["dog", "xyzzy", {"title": "wine"}], "rank": "wmd"},
]


@pytest.mark.parametrize("body", QUERIES)
def test_answers_of_searches_are_as_declared(server: RunningServer, document: Object, body: Object) -> None:
    reply = server.ask("/collections/pets/search", body)
    assert reply.status == 200
    check(document, "post", SEARCH, reply)


COMPARE: list[tuple[str, Object]] = [
    ("compare", {"claim": "The dog. It is. 5 mg wine zzz", "sources": ["a cat", {"title": "wine"}], "keys": ["t1"]}),
    ("compare", {"claim": THREAD, "keys": ["t1"], "tau": 0.5}),
    ("changes", {"old": "dog wine late train", "new": "late train dog bird"}),
    ("changes", {"old": "", "new": THREAD, "tau": 0}),
]


@pytest.mark.parametrize(("action", "body"), COMPARE)
def test_comparisons_are_as_declared(server: RunningServer, document: Object, action: str, body: Object) -> None:
    reply = server.ask(f"/collections/pets/{action}", body)
    assert reply.status == 200
    check(document, "post", f"/collections/{{name}}/{action}", reply)


RERANK: list[tuple[str, Object]] = [
    ("/rerank", {"query": "dog", "texts": ["a dog", "wine"], "return_text": True}),
    ("/rerank", {"query": "dog", "documents": ["a dog", "zzz"], "return_documents": True}),
    ("/v1/rerank", {"query": "dog", "documents": ["a dog", {"id": 1}, {"text": "wine"}], "return_documents": True}),
    ("/v2/rerank", {"query": "dog", "documents": ["a dog", "wine"], "top_n": 1}),
    ("/collections/{name}/similar", {"key": "t1", "explain": True}),
    ("/collections/{name}/explain", {"query": "dog and zzz", "key": "t1"}),
    ("/collections/{name}/explain", {"similar": "t2", "key": "t1", "rank": "wmd+bm25"}),
    ("/collections/{name}/why-not", {"query": "dog", "key": "t2", "k": 1}),
    ("/collections/{name}/why-not", {"query": "dog", "key": "t2", "rank": "wmd+0.5*bm25"}),
    ("/collections/{name}/rerank", {"query": "dog", "keys": ["t1", "t2", "t4", "none"], "k": 1, "full": True}),
]


@pytest.mark.parametrize(("path", "body"), RERANK)
def test_answers_of_rankings_are_as_declared(server: RunningServer, document: Object, path: str, body: Object) -> None:
    reply = server.ask(path.replace("{name}", "pets"), body)
    assert reply.status == 200
    check(document, "post", path, reply)


@pytest.mark.parametrize(
    ("path", "url"),
    [
        (SEARCH, "/collections/pets/search?q=dog&k=2&where=year>2000&explain=true"),
        ("/collections", "/collections"),
        ("/collections/{name}", "/collections/pets"),
        ("/collections/{name}/documents", "/collections/pets/documents?limit=3"),
        (DOCUMENT, "/collections/pets/documents/t1"),
        (DOCUMENT, "/collections/pets/documents/a%2Fb"),
        *((path, path) for path in ("/health", "/ready", "/info", "/metrics", "/v1/models")),
    ],
)
def test_what_is_read_is_as_declared(server: RunningServer, document: Object, path: str, url: str) -> None:
    reply = server.ask(quote(url, safe="/?&=%"))
    assert reply.status == 200
    check(document, "get", path, reply)


def test_changes_are_as_declared(writable: RunningServer) -> None:
    document = writable.ask("/openapi.json").json
    at = "/collections/pets/documents"
    lines = b'{"id": "n1", "text": "dog"}\n{"id": "n2", "text": "cat", "title": "wine"}\n'
    check(document, "post", "/collections/{name}/documents", writable.ask(at, lines))
    check(document, "put", DOCUMENT, writable.ask(f"{at}/n3", THREAD, method="PUT"))
    check(document, "delete", DOCUMENT, writable.ask(f"{at}/n1", method="DELETE"))
    deleted = writable.ask(f"{at}?where=key%3Dn2", method="DELETE")
    check(document, "delete", "/collections/{name}/documents", deleted)
    assert deleted.json["removed"] == 1


PROBLEMS: list[tuple[int, str, str, str, Any, Object]] = [
    (404, "post", SEARCH, "/collections/none/search", {"query": "dog"}, {}),
    (404, "get", DOCUMENT, "/collections/pets/documents/none", None, {}),
    (422, "post", SEARCH, "/collections/pets/search", {"query": "dog", "k": 0}, {}),
    (422, "post", SEARCH, "/collections/pets/search", {"query": "dog", "k": LIMITS.k + 1}, {}),
    (422, "post", SEARCH, "/collections/pets/search", {"query": "xyzzy", "rank": "wmd"}, {}),
    (422, "get", SEARCH, "/collections/pets/search", None, {}),
    (422, "get", "/collections/{name}/documents", "/collections/pets/documents?limit=0", None, {}),
    (422, "post", "/rerank", "/rerank", {"query": "dog"}, {}),
    (422, "post", "/v1/rerank", "/v1/rerank", b"{", {}),
    (413, "post", "/v1/rerank", "/v1/rerank", {"query": "dog", "documents": ["a" * (LIMITS.characters + 1)]}, {}),
    (403, "put", DOCUMENT, "/collections/pets/documents/n", {"text": "dog"}, {}),
    (403, "post", "/rerank", "/rerank", {"query": "a", "texts": ["b"]}, {"Origin": "https://other.example"}),
    (421, "get", "/collections", "/collections", None, {"Host": "other.example"}),
]


@pytest.mark.parametrize(("status", "method", "path", "url", "body", "headers"), PROBLEMS)
def test_problems_are_as_declared(
    server: RunningServer, document: Object, status: int, method: str, path: str, url: str, body: Any, headers: Object
) -> None:
    reply = server.ask(url, body, method=method.upper(), headers=headers)
    assert (reply.status, reply.json["status"]) == (status, status)
    check(document, method, path, reply)


def test_a_token_is_declared_where_one_is_needed(pets: Path, tmp_path: Path, document: Object) -> None:
    assert "security" not in document
    assert "securitySchemes" not in document["components"]
    (tmp_path / "token").write_text(SECRET)
    running = RunningServer("-i", pets, "--token-file", tmp_path / "token", log=tmp_path / "log")
    try:
        assert running.ask("/openapi.json").status == 401
        found = running.ask("/openapi.json", headers={"Authorization": f"Bearer {SECRET}"}).json
        assert found["security"] == [{"bearer": []}, {"basic": []}]
        assert {one["scheme"] for one in found["components"]["securitySchemes"].values()} == {"bearer", "basic"}
        for name, operation in operations(found):
            method, path = name.split(" ")
            reply = running.ask(path.replace("{name}", "pets").replace("{key}", "t1"), method=method)
            is_open = operation.get("security") == []
            assert (reply.status == 401) != is_open, name
            check(found, method.lower(), path, reply)
    finally:
        running.stop()


def test_names_of_operations_are_short_and_different(document: Object) -> None:
    names = [operation["operationId"] for _, operation in operations(document)]
    assert len(set(names)) == len(names)
    assert {"search", "similar", "explain", "add_documents", "rerank_texts"} <= set(names)
