"""Imports word vectors from a file, or by name with gensim's downloader."""

import contextlib
import io
import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path

from moverank.indexer.errors import VectorsError
from moverank.indexer.options import Progress, silent
from moverank.indexer.vectors.formats.detection import is_pickle, read_vector_rows
from moverank.indexer.vectors.formats.gensim_pickle import read_pickled
from moverank.indexer.vectors.formats.word2vec import VectorTable
from moverank.indexer.vectors.manifest import read_manifest
from moverank.indexer.vectors.open_vectors import open_vectors
from moverank.indexer.vectors.vector_file import VectorFile
from moverank.indexer.vectors.vectors_writer import vectors_directory, write_manifest, write_vectors
from moverank.rerank.runtime.gensim_log import gensim_imports
from moverank.rerank.words.embedding import Embedding

_TIMEOUT = 30.0
"""Seconds without data after which a connection counts as dead."""


def download(name: str, progress: Progress) -> Path:
    """Return the file of gensim's model `name`, downloaded once into gensim's own directory (`$GENSIM_DATA_DIR`).

    The code that comes with the models is never run. Raises VectorsError for an unknown model or a failed download,
    MissingExtra without gensim.
    """
    with gensim_imports(f"gensim:{name}", "name a file of word vectors"):
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


_GENSIM = "gensim:"


def import_vectors(
    source: str, directory: Path, *, normalize: bool = False, trust_pickle: bool = False, progress: Progress = silent
) -> Embedding:
    r"""Import word vectors into `directory`, and open them.

    Formats: word2vec binary and text, GloVe, fastText text and binary, any of them gzipped; gensim's own pickles. The
    case of words is unchanged. Bytes of a word that are not UTF-8 become escapes such as `\xe9`; a file in which more
    than 1 % of the words have any is rejected. Memory: the words and some megabytes. Raises VectorsError, and leaves
    nothing behind.

    `source` is a path or `gensim:NAME`; `directory` is created or replaced. `normalize` scales vectors to unit length;
    zero vectors stay zero. `trust_pickle` allows pickles, which can run any code. `progress` is called after each
    chunk.
    """
    name = source.removeprefix(_GENSIM)
    path = Path(source).absolute() if name == source else download(name, progress)
    with vectors_directory(directory) as temporary, VectorFile(path) as file:
        if is_pickle(file):
            table = _read_pickled(path, temporary, trust=trust_pickle)
        else:
            table = read_vector_rows(file, temporary, progress)
        sizes = write_vectors(temporary, table, str(path), normalize=normalize, progress=progress)
        recorded = str(path) if name == source else source
        origin = {"source": recorded, "bytes": file.size, "mtime_ns": file.modified, "sha256": file.digest()}
        write_manifest(temporary, {**sizes, **origin})
    return open_vectors(directory)


def same_source(directory: Path, source: str) -> bool:
    """Return whether `directory` was imported from `source`: the same name, or a file with the same content.

    A file at the recorded path is read only if its modification time differs from the recorded one; a file that no
    longer exists there counts as unchanged. Raises VectorsError if the vectors or the source cannot be read.
    """
    manifest = read_manifest(directory)
    if source.startswith(_GENSIM):
        return bool(source == manifest.get("source"))
    path = Path(source).absolute()
    same_path = str(path) == manifest.get("source")
    if same_path and not path.exists():
        return True
    with VectorFile(path) as file:
        if file.size != manifest.get("bytes"):
            return False
        return (same_path and file.modified == manifest.get("mtime_ns")) or file.digest() == manifest.get("sha256")


def _read_pickled(path: Path, directory: Path, *, trust: bool) -> VectorTable:
    if not trust:
        raise VectorsError(
            f"{path} is a pickle, as gensim writes, and can run any code: give --trust-pickle if you trust its author, "
            "or save it with save_word2vec_format"
        )
    return read_pickled(path, directory)
