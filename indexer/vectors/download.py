"""Downloads word vectors by name, with gensim's downloader."""

import contextlib
import io
import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path

from moverank.indexer.errors import VectorsError
from moverank.indexer.progress import Progress

_TIMEOUT = 30.0
"""Seconds without data after which a connection counts as dead."""


def download(name: str, progress: Progress) -> Path:
    """Return the file of gensim's model `name`, downloaded once into gensim's own directory (`$GENSIM_DATA_DIR`).

    The code that comes with the models is never run. Raises VectorsError for an unknown model or a failed download.
    """
    from gensim import downloader

    try:
        with _quiet(f"Downloading {name}", progress):
            names = downloader.info(name_only=True)
            path = Path(downloader.load(name, return_path=True)) if name in names["models"] else None
    except Exception as error:  # the downloader also raises bare Exception
        raise VectorsError(
            f"gensim:{name} is not available ({error}): connect to the network, or name a file of word vectors; "
            "models are such as glove-wiki-gigaword-100, word2vec-google-news-300, fasttext-wiki-news-subwords-300"
        ) from error
    if path is None:
        known = ", ".join(sorted(model for model in names["models"] if not model.startswith("_")))
        kind = "a corpus of gensim" if name in names["corpora"] else "not a model of gensim"
        raise VectorsError(f"{name!r} is {kind}; its models of word vectors are {known}")
    return path


@contextlib.contextmanager
def _quiet(task: str, progress: Progress) -> Iterator[None]:
    """Turn the downloader's output into progress, silence its log, and give its connections a timeout."""
    log, timeout = logging.getLogger("gensim"), socket.getdefaulttimeout()
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    socket.setdefaulttimeout(_TIMEOUT)
    try:
        with contextlib.redirect_stdout(_ProgressBar(task, progress)):
            yield
    finally:
        socket.setdefaulttimeout(timeout)
        log.setLevel(level)


class _ProgressBar(io.StringIO):
    """Parses the downloader's progress bar, `[===   ] 48.0% 12.0/25.0MB downloaded`, and reports its numbers."""

    def __init__(self, task: str, progress: Progress) -> None:
        super().__init__()
        self._task, self._progress = task, progress

    def write(self, text: str) -> int:
        numbers = re.search(r"([\d.]+)/([\d.]+)MB", text)
        if numbers:
            self._progress(self._task, int(float(numbers[1])), int(float(numbers[2])), "MB")
        return len(text)
