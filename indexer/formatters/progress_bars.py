"""Progress on standard error; rich, which draws it, is imported only once there is some: most searches have none."""

from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console

    from moverank.indexer.formatters.progress_display import ProgressDisplay


class Bars:
    """A `Progress` callback that draws a bar for each task; without a terminal, it prints a line each minute."""

    def __init__(self, console: "Console | None" = None) -> None:
        self._console = console
        self._display: ProgressDisplay | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is not None:
            self._display.stop()

    def __call__(self, task: str, done: int, total: int | None, unit: str) -> None:
        """Report the progress of a task; see `Progress`."""
        if self._display is None:
            from moverank.indexer.formatters.progress_display import ProgressDisplay

            self._display = ProgressDisplay(self._console)
        self._display.report(task, done, total, unit)
