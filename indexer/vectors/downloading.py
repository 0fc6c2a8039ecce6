"""Downloads of models by name: `gensim:NAME` by gensim's downloader, `hf:NAME` from the Hugging Face Hub."""

import contextlib
import io
import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path

from moverank.indexer.errors import VectorsError
from moverank.indexer.values.search_options import Progress
from moverank.rerank.runtime.gensim_log import gensim_imports
from moverank.rerank.words.subwords import static_imports

_GENSIM, _HUB = "gensim:", "hf:"
_HUB_FILES = ("config.json", "modules.json", "model.safetensors", "tokenizer.json")

_TIMEOUT = 30.0
"""Seconds without data after which a connection counts as dead."""


def is_download(source: str) -> bool:
    """Return whether a source of word vectors is the name of a model to download."""
    return source.startswith(tuple(_DOWNLOADS))


def is_of_hub(source: str) -> bool:
    """Return whether a source of word vectors is the name of a model of the Hugging Face Hub."""
    return source.startswith(_HUB)


def download(source: str, progress: Progress) -> Path:
    """Return the file or directory of a model, downloaded once: `gensim:NAME` or `hf:NAME`.

    Raises VectorsError for an unknown model or a failed download, MissingExtra without the package that downloads it.
    """
    kind, _, name = source.partition(":")
    return _DOWNLOADS[f"{kind}:"](name, progress)


def _from_gensim(name: str, progress: Progress) -> Path:
    """Return the file of gensim's model `name`, downloaded once into gensim's own directory (`$GENSIM_DATA_DIR`).

    The code that comes with the models is never run.
    """
    with gensim_imports(f"gensim:{name}", "name a file of word vectors"):
        from gensim import downloader

    try:
        with _quiet("gensim"), contextlib.redirect_stdout(_ProgressBar(f"Downloading {name}", progress)):
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


def _from_hub(name: str, progress: Progress) -> Path:
    """Return the directory of the Hub's model `name`, downloaded once into the Hub's own directory (`$HF_HOME`).

    Only the files of a static embedding model are fetched; none of them can run code.
    """
    with static_imports(f"hf:{name}"):
        import huggingface_hub
        from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    progress(f"Downloading {name}", 0, None, "MB")
    patterns = [*_HUB_FILES, *(f"*/{file}" for file in _HUB_FILES)]
    shows = not are_progress_bars_disabled()
    try:
        disable_progress_bars()
        with _quiet("huggingface_hub"):
            return Path(huggingface_hub.snapshot_download(name, allow_patterns=patterns))
    except Exception as error:  # of the Hub or its HTTP client, or ValueError for an invalid name
        reason = str(error).strip().partition("\n")[0]
        raise VectorsError(
            f"hf:{name} is not available ({reason}): connect to the network, or name a directory with the model; "
            "models are such as minishlab/potion-base-8M"
        ) from error
    finally:
        if shows:
            enable_progress_bars()


@contextlib.contextmanager
def _quiet(package: str) -> Iterator[None]:
    """Silence the log of the package that downloads, and give its connections a timeout."""
    log, timeout = logging.getLogger(package), socket.getdefaulttimeout()
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    socket.setdefaulttimeout(_TIMEOUT)
    try:
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


_DOWNLOADS = {_GENSIM: _from_gensim, _HUB: _from_hub}
