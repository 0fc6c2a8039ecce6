"""A shared context is entered once by the first of several users, and exited by the last."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from moverank.rerank.runtime.gensim_log import without_gensim_log
from moverank.rerank.runtime.parallel import SharedContext


def test_the_first_user_enters_and_the_last_exits() -> None:
    events: list[str] = []

    @contextmanager
    def context() -> Iterator[None]:
        events.append("in")
        yield
        events.append("out")

    shared, one, other = SharedContext(context), ExitStack(), ExitStack()
    for _ in range(2):
        events.clear()
        one.enter_context(shared)
        other.enter_context(shared)
        one.close()  # the first to enter is the first to leave
        assert events == ["in"]
        other.close()
        assert events == ["in", "out"]


def test_gensim_s_log_level_is_restored() -> None:
    log = logging.getLogger("gensim")
    before = log.level
    with without_gensim_log:
        with without_gensim_log:
            assert log.level == logging.ERROR
        assert log.level == logging.ERROR
    assert log.level == before
