"""An operation of another package that prints, and that works until it is stopped."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from moverank.indexer.operations.operation import UNLIMITED, OperatedState, Operation, Work
from moverank.indexer.values.option import Option
from moverank.rerank.answer import Answer
from moverank.rerank.runtime.deadline import time_is_over


@dataclass(frozen=True, slots=True)
class Chattered(Answer):
    """What was said."""

    said: str
    """The words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chatter(Operation[Chattered]):
    """Say some words on standard output."""

    NAME: ClassVar = "chatter"
    ANSWER: ClassVar = Chattered

    words: Annotated[str, Option("The words.")]
    until_stopped: Annotated[str, Option("A file that is there while work goes on.")] = ""

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Chattered:  # noqa: ARG002 - it needs none
        """Return the words; ValueError for none, as an operation with a defect raises it."""
        print(self.words)  # noqa: T201 - that is the test
        os.write(1, self.words.encode())  # as a library in C does
        if not self.words:
            raise ValueError("a defect")
        if self.until_stopped:
            Path(self.until_stopped).touch()
            while not time_is_over():
                time.sleep(0.01)
            Path(self.until_stopped).unlink()
        return Chattered(self.words)
