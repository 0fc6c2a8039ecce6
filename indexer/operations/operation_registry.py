"""All operations by name: the core's, and those of plug-ins and other packages, found by their entry points.

Those of moverank's own plug-ins are declared in `pyproject.toml`.
"""

from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

from moverank.indexer import operations
from moverank.indexer.errors import PlugInError
from moverank.indexer.operations.operation import Operation
from moverank.rerank.answer import Answer
from moverank.rerank.plug_ins import PlugIns

_CORE = {
    "search": "Search",
    "similar": "Similar",
    "rerank": "Rerank",
    "explain": "Explain",
    "why-not": "ExplainExclusion",
    "pairs": "FindPairs",
    "dedupe": "FindDuplicates",
    "list": "ListDocuments",
    "show": "ShowDocument",
}
PLUG_INS = PlugIns[Operation[Any]](
    "operation",
    {name: f"{operations.__name__}:{kind}" for name, kind in _CORE.items()},
    ("run",),
    PlugInError,
    ("NAME", "ANSWER"),
    named="NAME",
    contract="the manual's page `plugins`",
)


def operation_named(name: str) -> Any:
    """Return the class of the operation of that name; PlugInError if there is none, or if it is unusable."""
    kind = PLUG_INS.of(name)
    made: Any = kind
    if not all(issubclass(one, of) and is_dataclass(one) for one, of in ((made, Operation), (made.ANSWER, Answer))):
        raise PlugInError(
            f"the operation {name!r}, {kind.__module__}.{kind.__qualname__}, is no dataclass of the type "
            "moverank.Operation, or its ANSWER none of the type moverank.Answer"
        )
    return kind


def served_operations() -> Iterator[type[Operation[Any]]]:
    """Yield the operations that servers and agents may use; PlugInError for an unusable one of another package."""
    return (kind for kind in map(operation_named, PLUG_INS.names()) if kind.SERVED)
