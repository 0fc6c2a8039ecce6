"""gensim's log, which tells people what only its caller could change."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_gensim_log() -> Iterator[None]:
    """Keep gensim's advice on small corpora off standard error: the caller can do nothing about it."""
    log = logging.getLogger("gensim")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)
