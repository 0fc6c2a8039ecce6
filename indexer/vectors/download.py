"""Word vectors by name, through gensim's downloader."""

import contextlib
import io
import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path

from moverank.indexer.errors import VectorsError
from moverank.indexer.progress import Progress

_SECONDS = 30.0


def download(name: str, progress: Progress) -> Path:
    """Return the file of gensim's model `name`, fetched once into gensim's own folder (`$GENSIM_DATA_DIR`).

    The code that comes with the models is never run. Raises VectorsError where there is no such model or no network.
    """
    from gensim import downloader

    try:
        with _quiet(f"Downloading {name}", progress):
            names = downloader.info(name_only=True)
            path = Path(downloader.load(name, return_path=True)) if name in names["models"] else None
    except Exception as error:  # the downloader raises bare exceptions, too
        raise VectorsError(
            f"gensim:{name} cannot be had ({error}): connect to the network, or name a file of word vectors; "
            "models are such as glove-wiki-gigaword-100, word2vec-google-news-300, fasttext-wiki-news-subwords-300"
        ) from error
    if path is None:
        known = ", ".join(sorted(model for model in names["models"] if not model.startswith("_")))
        what = "a corpus of gensim's" if name in names["corpora"] else "no model that gensim knows"
        raise VectorsError(f"{name!r} is {what}; its models of word vectors are {known}")
    return path


@contextlib.contextmanager
def _quiet(task: str, progress: Progress) -> Iterator[None]:
    """Keep the downloader off standard output and out of the log, and let no dead connection hang."""
    log, timeout = logging.getLogger("gensim"), socket.getdefaulttimeout()
    silenced = log.level
    log.setLevel(logging.CRITICAL + 1)
    socket.setdefaulttimeout(_SECONDS)
    try:
        with contextlib.redirect_stdout(_Bar(task, progress)):
            yield
    finally:
        socket.setdefaulttimeout(timeout)
        log.setLevel(silenced)


class _Bar(io.StringIO):
    """The downloader's bar, which it prints as `[===   ] 48.0% 12.0/25.0MB downloaded`, as our own progress."""

    def __init__(self, task: str, progress: Progress) -> None:
        super().__init__()
        self._task, self._progress = task, progress

    def write(self, text: str) -> int:
        numbers = re.search(r"([\d.]+)/([\d.]+)MB", text)
        if numbers:
            self._progress(self._task, int(float(numbers[1])), int(float(numbers[2])), "MB")
        return len(text)
