"""Suppression of gensim's log."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from moverank.rerank.runtime.shared_context import SharedContext


@contextmanager
def _errors_only() -> Iterator[None]:
    log = logging.getLogger("gensim")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


without_gensim_log = SharedContext(_errors_only)
"""A context that suppresses gensim's warnings, such as those about small corpora: our users cannot act on them."""
