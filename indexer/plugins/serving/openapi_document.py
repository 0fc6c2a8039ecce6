"""Completes the OpenAPI document: the problems of each endpoint, the limits of this server, and its token."""

from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter

from moverank.indexer.plugins.serving.answers import JsonObject, ProblemObject
from moverank.indexer.plugins.serving.guard import Access
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.problems import MEDIA_TYPE, TITLES

_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "The token of the server."},
    "basic": {"type": "http", "scheme": "basic", "description": "Any name, with the token as the password."},
}
_GENERATED = ("HTTPValidationError", "ValidationError")  # of FastAPI; this server sends problems
_WORK = ("rerank", "collections", "documents", "watches")


class DescribedApp(FastAPI):
    """An application whose OpenAPI document describes `access` and `limits`."""

    def __init__(self, access: Access, limits: Limits, **options: Any) -> None:
        super().__init__(generate_unique_id_function=lambda route: route.name, **options)
        self._access, self._limits, self._document = access, limits, dict[str, Any]()

    def openapi(self) -> JsonObject:
        """Return the document; it is made once."""
        if not self._document:
            document = super().openapi()
            self._describe(document)
            self._document = document
        return self._document

    def _describe(self, document: JsonObject) -> None:
        schemas = document["components"]["schemas"]
        for name in _GENERATED:
            schemas.pop(name, None)
        schemas["ProblemObject"] = TypeAdapter(ProblemObject).json_schema()
        self._limit_sizes(schemas, document)
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                self._add_problems(path, method, operation)
                for answer in operation["responses"]["200"].get("content", {}).values():
                    answer["schema"] = _declared(answer.get("schema", {}))
        if self._access.tokens is not None:
            document["components"]["securitySchemes"] = _SCHEMES
            document["security"] = [{name: []} for name in _SCHEMES]

    def _add_problems(self, path: str, method: str, operation: JsonObject) -> None:
        """Declare the problems of an operation, all of one form; first the problems that any endpoint can have."""
        is_open = path in self._access.open_paths
        statuses = {400, 408, 421, 500}
        if self._access.tokens is not None and not is_open:
            statuses |= {401, 429}
        elif self._access.tokens is not None:
            operation["security"] = []
        statuses |= set() if is_open else {403}
        statuses |= {404} if "{" in path else set()
        statuses |= {413, 415} if "requestBody" in operation else set()
        statuses |= {422} if "requestBody" in operation or "parameters" in operation else set()
        if operation["tags"][0] in _WORK and (method != "get" or "{name}/" in path):
            statuses |= {413, 429, 503, 504}
        statuses |= {503} if path == "/ready" else set()
        schema = {"$ref": "#/components/schemas/ProblemObject"}
        for status in sorted(statuses):
            title = TITLES[status].capitalize()
            operation["responses"][str(status)] = {"description": title, "content": {MEDIA_TYPE: {"schema": schema}}}

    def _limit_sizes(self, schemas: JsonObject, document: JsonObject) -> None:
        """State the maximum of each number and list that this server limits."""
        most = {name: getattr(self._limits, name) for name in ("k", "depth", "limit")} | {"queries": self._limits.batch}
        texts = dict.fromkeys(("texts", "documents", "keys", "scores"), self._limits.texts)
        for name, schema in schemas.items():
            own = texts if "Rerank" in name or "Inference" in name else most
            for field, one in schema.get("properties", {}).items() if name.endswith("Body") else ():
                _limit(one, own.get(field))
        for operations in document["paths"].values():
            for operation in operations.values():
                for parameter in operation.get("parameters", ()):
                    _limit(parameter["schema"], most.get(parameter["name"]))


def _declared(schema: JsonObject) -> JsonObject:
    """Return the type that an endpoint declares, without the function's return type, which FastAPI mixes in."""
    return next(({name: schema[name]} for name in ("$ref", "anyOf") if name in schema), schema)


def _limit(schema: JsonObject, most: int | None) -> None:
    for one in schema.get("anyOf", (schema,)) if most is not None else ():
        if one.get("type") == "integer":
            one["maximum"] = most
        elif one.get("type") == "array":
            one["maxItems"] = most
