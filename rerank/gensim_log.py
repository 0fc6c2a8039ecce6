"""gensim's log, which tells people what only its caller could change."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_lock = Lock()
_before: list[int] = []
"""The log's own level under those of all who want it silent: threads may come and go in any order."""


@contextmanager
def without_gensim_log() -> Iterator[None]:
    """Keep gensim's advice on small corpora off standard error: the caller can do nothing about it."""
    log = logging.getLogger("gensim")
    with _lock:
        _before.append(_before[0] if _before else log.level)
        log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        with _lock:
            level = _before.pop()
            if not _before:
                log.setLevel(level)
