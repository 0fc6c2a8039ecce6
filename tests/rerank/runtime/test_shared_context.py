"""What belongs to the whole process is changed once for all who want it, and changed back by the last."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from moverank.rerank.runtime.gensim_log import without_gensim_log
from moverank.rerank.runtime.shared_context import SharedContext


def test_the_first_enters_and_the_last_leaves() -> None:
    told: list[str] = []

    @contextmanager
    def context() -> Iterator[None]:
        told.append("in")
        yield
        told.append("out")

    together, one, other = SharedContext(context), ExitStack(), ExitStack()
    for _ in range(2):
        told.clear()
        one.enter_context(together)
        other.enter_context(together)
        one.close()  # who came first goes first
        assert told == ["in"]
        other.close()
        assert told == ["in", "out"]


def test_gensim_is_heard_again_when_nobody_minds() -> None:
    log = logging.getLogger("gensim")
    before = log.level
    with without_gensim_log:
        with without_gensim_log:
            assert log.level == logging.ERROR
        assert log.level == logging.ERROR
    assert log.level == before
