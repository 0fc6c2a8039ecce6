"""All operations: the core's, and those of plug-ins and other packages, found by their entry points."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

from moverank.indexer import operations
from moverank.indexer.errors import PlugInError
from moverank.indexer.operations.operation import Operation
from moverank.rerank.answer import Answer
from moverank.rerank.plug_ins import PlugIns

PLUG_INS = PlugIns[Operation[Any]](
    "operation",
    {"changes": None, "compare": None},
    ("run",),
    PlugInError,
    ("NAME", "ANSWER"),
    named="NAME",
    contract="the manual's page `plugins`",
)


def own_operations() -> tuple[type[Operation[Any]], ...]:
    """Return the operations of the core."""
    return (
        operations.Search,
        operations.Similar,
        operations.Rerank,
        operations.Explain,
        operations.ExplainExclusion,
        operations.FindPairs,
        operations.FindDuplicates,
        operations.ListDocuments,
        operations.ShowDocument,
    )


def operation_named(name: str) -> Any:
    """Return the class of that name, an operation of this package or another; PlugInError if there is none."""
    return next((kind for kind in own_operations() if name == kind.NAME), None) or other_operation(name)


def served_operations() -> Iterator[type[Operation[Any]]]:
    """Yield the operations that servers answer; PlugInError for an unusable one of another package."""
    for kind in (*own_operations(), *map(other_operation, PLUG_INS.names())):
        if kind.SERVED:
            yield kind


def other_operation(name: str) -> type[Operation[Any]]:
    """Return the operation of that name of a plug-in or another package; PlugInError if it is none."""
    kind = PLUG_INS.of(name)
    made: Any = kind
    if not all(issubclass(one, of) and is_dataclass(one) for one, of in ((made, Operation), (made.ANSWER, Answer))):
        raise PlugInError(
            f"the operation {name!r}, {kind.__module__}.{kind.__qualname__}, is no dataclass of the type "
            "moverank.Operation, or its ANSWER none of the type moverank.Answer"
        )
    return kind
