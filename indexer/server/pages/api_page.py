"""The endpoints of the server as a page, from its OpenAPI document: FastAPI's pages load scripts from another host."""

from collections.abc import Iterator
from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from moverank.indexer.server.answers import JsonObject
from moverank.indexer.server.pages.rendering import rendered


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a field of the body: `place` is path, query or body; `default` is empty if there is none."""

    name: str
    place: str
    type: str
    required: bool
    default: str
    text: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method and a path, their description, the fields of a request, and the type of its body, if there is one."""

    method: str
    path: str
    text: str
    fields: tuple[Field, ...]
    media_type: str

    @property
    def anchor(self) -> str:
        """Return a name for links."""
        return f"{self.method}{self.path}".translate({ord(char): "-" for char in "/{}"}).lower()


def endpoints(document: JsonObject) -> dict[str, list[Endpoint]]:
    """Return the endpoints of a document by tag."""
    groups: dict[str, list[Endpoint]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tag = (operation.get("tags") or ["other"])[0]
            groups.setdefault(tag, []).append(_endpoint(document, method, path, operation))
    return groups


def _endpoint(document: JsonObject, method: str, path: str, operation: JsonObject) -> Endpoint:
    body = operation.get("requestBody", {}).get("content", {})
    media_type, schema = next(((kind, one.get("schema", {})) for kind, one in body.items()), ("", {}))
    fields = (*_parameters(document, operation), *_body_fields(document, _resolved(document, schema)))
    text = operation.get("description") or operation.get("summary", "")
    return Endpoint(method.upper(), path, text, fields, media_type)


def _parameters(document: JsonObject, operation: JsonObject) -> Iterator[Field]:
    for one in operation.get("parameters", ()):
        schema = one.get("schema", {})
        text = one.get("description") or schema.get("description", "")
        yield Field(one["name"], one["in"], _type(document, schema), one.get("required", False), _default(schema), text)


def _body_fields(document: JsonObject, schema: JsonObject) -> Iterator[Field]:
    required = schema.get("required", ())
    for name, one in schema.get("properties", {}).items():
        yield Field(name, "body", _type(document, one), name in required, _default(one), one.get("description", ""))


def _resolved(document: JsonObject, schema: JsonObject) -> JsonObject:
    if "$ref" not in schema:
        return schema
    found: JsonObject = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found


def _default(schema: JsonObject) -> str:
    value = schema.get("default")
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _type(document: JsonObject, schema: JsonObject) -> str:
    """Return the type of a field in words."""
    schema = _resolved(document, schema)
    if "anyOf" in schema:
        names = (_type(document, one) for one in schema["anyOf"] if one.get("type") != "null")
        return " or ".join(dict.fromkeys(names))
    if "enum" in schema:
        return " or ".join(map(str, schema["enum"]))
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(document, schema.get('items', {}))}"
    limits = [f"{sign} {schema[name]}" for name, sign in _LIMITS.items() if name in schema]
    return " ".join([str(kind), *limits])


_LIMITS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤"}


router = APIRouter()


@router.get("/docs")
async def api_page(request: Request) -> HTMLResponse:
    """List the endpoints with their fields."""
    document = request.app.openapi()
    return rendered(request, "api.html", {"page": "api", "groups": endpoints(document), "version": request.app.version})
