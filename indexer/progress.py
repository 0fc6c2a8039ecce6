"""Progress of long work: a callback, so that the library does not depend on a terminal."""

from typing import Protocol


class Progress(Protocol):
    """A callback for tasks that may take more than a second."""

    def __call__(self, task: str, done: int, total: int | None, unit: str) -> None:
        """Report that `done` of `total` (None: unknown) items of a `task` are done; `unit` names the items."""


def silent(task: str, done: int, total: int | None, unit: str) -> None:
    """No-op `Progress` callback."""
