"""gensim's log, which tells people what only its caller could change."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from moverank.rerank.runtime.shared_context import SharedContext


@contextmanager
def _silent() -> Iterator[None]:
    log = logging.getLogger("gensim")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


without_gensim_log = SharedContext(_silent)
"""Keeps gensim's advice on small corpora off standard error: the caller can do nothing about it."""
