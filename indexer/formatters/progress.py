"""Progress on standard error: bars on a terminal, elsewhere a line a minute."""

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

_PATIENCE = 1.0  # seconds until a bar is shown
_PERIOD = 60.0  # seconds between two lines
_WIDE = 100  # columns from which a bar shows its amounts, not only a percentage
_BAR = 40


class _AmountColumn(ProgressColumn):
    """The amount done of the whole, and the rate per second; in a narrow terminal the percentage."""

    def __init__(self, *, wide: bool) -> None:
        super().__init__(Column(no_wrap=True))
        self._wide = wide

    def render(self, task: Task) -> Text:
        unit, speed = str(task.fields["unit"]), task.finished_speed or task.speed
        if not self._wide and task.total:
            return Text(f"{task.percentage:.0f} %")
        amount = _amount(task.completed, task.total, unit)
        rate = (decimal(int(speed)) if unit == "B" else f"{speed:,.0f}") if speed and self._wide else ""
        return Text(f"{amount}, {rate}/s" if rate else amount)


class _Columns:
    """The columns of a bar that fits a terminal of `width` columns: a long name is cut, the bar shrinks."""

    def __init__(self, width: int) -> None:
        name = Column(no_wrap=True, overflow="ellipsis", max_width=max(10, width // 3))
        self.all = (
            TextColumn("{task.description}", table_column=name),
            BarColumn(None, table_column=Column(max_width=_BAR)),
            _AmountColumn(wide=width >= _WIDE),
            TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True)),
        )


@dataclass(slots=True)
class _Lines:
    """When a task began, and when its last line was printed."""

    began: float
    printed: float
    done: int = 0


class Bars:
    """A `Progress` callback that draws a bar for each task on a console, by default standard error.

    Without a terminal, it prints a line each minute.
    """

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)
        self._progress = Progress(*_Columns(self._console.width).all, console=self._console, transient=True)
        self._began: dict[str, _Lines] = {}
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tasks:  # stopping a display that was not started would print an empty line
            self._progress.stop()

    def __call__(self, task: str, done: int, total: int | None, unit: str) -> None:
        """Report the progress of a task; see `Progress`."""
        now = time.monotonic()
        lines = self._began.setdefault(task, _Lines(now, now))
        if done < lines.done:  # the task begins again, for other items
            lines.began = now
            if task in self._tasks:
                self._progress.reset(self._tasks[task])
        lines.done = done
        if not self._console.is_terminal:
            if now - lines.printed >= _PERIOD:
                lines.printed = now
                self._print_line(task, done, total, unit, now - lines.began)
            return
        if task not in self._tasks:
            if now - lines.began < _PATIENCE:
                return
            self._progress.start()
            self._tasks[task] = self._progress.add_task(task, total=total, unit=unit)
        self._progress.update(self._tasks[task], completed=done, total=total)

    def _print_line(self, task: str, done: int, total: int | None, unit: str, seconds: float) -> None:
        """Print the amount done after `seconds`, and the time that the rest takes at this rate."""
        rest = f", about {_duration(seconds / done * (total - done))} left" if total and done else ""
        self._console.print(
            f"moverank: {task}: {_amount(done, total, unit)} in {_duration(seconds)}{rest}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def _amount(done: float, total: float | None, unit: str) -> str:
    """Return `12,345 of 20,000 words`, or `12,345 words` if the total is unknown."""
    if total is None:
        return _quantity(done, unit)
    return f"{_quantity(done, unit) if unit == 'B' else f'{done:,.0f}'} of {_quantity(total, unit)}"


def _quantity(amount: float, unit: str) -> str:
    return decimal(int(amount)) if unit == "B" else f"{amount:,.0f} {unit}"


def _duration(seconds: float) -> str:
    """Return seconds up to two minutes, then minutes, then hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
