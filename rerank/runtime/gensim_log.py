"""Imports of gensim, which Python 3.14 lacks: an error where it is missing, and the suppression of its log."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from moverank.rerank.errors import MissingExtra
from moverank.rerank.runtime.parallel import SharedContext


@contextmanager
def gensim_imports(use: str, instead: str) -> Iterator[None]:
    """Guard imports of gensim: MissingExtra says that `use` needs gensim, and suggests `instead`."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != "gensim":
            raise
        raise MissingExtra(
            f"{use} needs gensim, which has no wheel for Python 3.14: use Python 3.11 to 3.13, or {instead}"
        ) from error


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
"""A context that suppresses gensim's warnings, such as those about small corpora: users cannot act on them."""
