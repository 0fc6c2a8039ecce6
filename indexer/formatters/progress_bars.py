"""Progress bars on standard error, only on a terminal, for tasks that take more than a second."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

_PATIENCE = 1.0  # seconds until a bar is shown


class _RateColumn(ProgressColumn):
    """The amount done, and the rate per second."""

    def render(self, task: Task) -> Text:
        unit, speed = str(task.fields["unit"]), task.finished_speed or task.speed
        if unit == "B":
            done, rate = decimal(int(task.completed)), f"{decimal(int(speed))}/s" if speed else ""
        else:
            done, rate = f"{task.completed:,.0f} {unit}", f"{speed:,.0f} {unit}/s" if speed else ""
        return Text(f"{done} {rate}".rstrip())


class Bars:
    """A `Progress` callback that draws a bar for each task; a no-op if standard error is not a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), _RateColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=self._console, transient=True)
        self._began: dict[str, float] = {}
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tasks:  # stopping a display that was not started would print an empty line
            self._progress.stop()

    def __call__(self, task: str, done: int, total: int | None, unit: str) -> None:
        """Draw the progress of a task; see `Progress`."""
        if not self._console.is_terminal:
            return
        began = self._began.setdefault(task, time.monotonic())
        if task not in self._tasks:
            if time.monotonic() - began < _PATIENCE:
                return
            self._progress.start()
            self._tasks[task] = self._progress.add_task(task, total=total, unit=unit)
        self._progress.update(self._tasks[task], completed=done, total=total)
