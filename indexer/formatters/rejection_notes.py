"""Notes on rejected records: the first ones in full, the others as numbers."""

from collections import Counter
from types import TracebackType
from typing import Self

from moverank.indexer.formatters.terminal import note
from moverank.indexer.values.documents import Rejection

LIMIT = 20
"""How many records of a file, and how many whole files, are reported one by one."""


class RejectionNotes:
    """Prints up to `LIMIT` rejected records of each file, and up to `LIMIT` files; on exit, the number of the rest."""

    def __init__(self) -> None:
        self._records: Counter[str] = Counter()
        self._files = 0

    def __call__(self, rejection: Rejection) -> None:
        """Print or count a rejection."""
        if rejection.line:
            self._records[rejection.source] += 1
            shown = self._records[rejection.source] <= LIMIT
        else:
            self._files += 1
            shown = self._files <= LIMIT
        if shown:
            note(str(rejection))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for source, count in self._records.items():
            if count > LIMIT:
                note(f"{source}: {_more(count, 'record')}")
        if self._files > LIMIT:
            note(_more(self._files, "file"))


def _more(count: int, what: str) -> str:
    more = count - LIMIT
    return f"1 more {what} was rejected" if more == 1 else f"{more:,} more {what}s were rejected"
