"""Imports word vectors from a file, from the directory of a static embedding model, or by name from a downloader."""

import hashlib
from contextlib import ExitStack
from pathlib import Path

from moverank.indexer.errors import VectorsError
from moverank.indexer.values.search_options import Progress, silent
from moverank.indexer.vectors.downloading import download, is_download, is_of_hub
from moverank.indexer.vectors.formats.detection import is_pickle, read_vector_rows
from moverank.indexer.vectors.formats.gensim_pickle import read_pickled
from moverank.indexer.vectors.formats.static_model import find_model, read_model
from moverank.indexer.vectors.formats.word2vec import VectorTable
from moverank.indexer.vectors.manifest import read_manifest
from moverank.indexer.vectors.open_vectors import open_vectors
from moverank.indexer.vectors.vector_file import VectorFile
from moverank.indexer.vectors.vectors_writer import vectors_directory, write_manifest, write_vectors
from moverank.rerank.words.embedding import Embedding


def import_vectors(
    source: str,
    directory: Path,
    *,
    normalize: bool | None = None,
    language: str | None = None,
    trust_pickle: bool = False,
    progress: Progress = silent,
) -> Embedding:
    r"""Import word vectors into `directory`, and open them.

    Formats: word2vec binary and text, GloVe, fastText text and binary, any of them gzipped; gensim's own pickles;
    directories of a static embedding model, by model2vec or Sentence Transformers. The case of words is unchanged.
    Bytes of a word that are not UTF-8 become escapes such as `\xe9`; a file in which more than 1 % of the words have
    any is rejected. Memory: the words and some megabytes. Raises VectorsError, and leaves nothing behind; MissingExtra
    without the packages that read a model.

    `source` is a path, `gensim:NAME` or `hf:NAME`; `directory` is created or replaced. `normalize` scales vectors to
    unit length, None: only vectors of a static embedding model; zero vectors stay zero. With the `language` of the
    texts, a code, words are also found in another case, without marks, or as compounds (`Forms`), but for a model,
    which composes every word as it was trained to.
    `trust_pickle` allows pickles, which can run any code. `progress` is called after each chunk.
    """
    named = is_download(source)
    path = download(source, progress) if named else Path(source).absolute()
    with vectors_directory(directory) as temporary, _Sources(path) as files:
        if files.model:
            table = read_model(files.model, temporary, progress)
        elif is_pickle(files.first):
            table = _read_pickled(path, temporary, trust=trust_pickle)
        else:
            table = read_vector_rows(files.first, temporary, progress)
        unit = table.unit if normalize is None else normalize
        forms = None if files.model else language
        sizes = write_vectors(
            temporary,
            table,
            str(path),
            normalize=unit,
            language=forms,
            progress=progress,
        )
        recorded = source if named else str(path)
        origin = {"source": recorded, "bytes": files.size, "mtime_ns": files.modified, "sha256": files.digest()}
        write_manifest(temporary, {**sizes, **origin})
        del table  # it maps a file of the directory, which cannot be renamed everywhere before
    return open_vectors(directory)


def is_model(source: str) -> bool:
    """Return whether a source is a static embedding model: a directory, or a name of the Hub."""
    return is_of_hub(source) or Path(source).is_dir()


def same_source(directory: Path, source: str) -> bool:
    """Return whether `directory` was imported from `source`: the same name, or files with the same content.

    Files at the recorded path are read only if their modification time differs from the recorded one; a source that no
    longer exists there counts as unchanged. Raises VectorsError if the vectors or the source cannot be read.
    """
    manifest = read_manifest(directory)
    if is_download(source):
        return bool(source == manifest.get("source"))
    path = Path(source).absolute()
    same_path = str(path) == manifest.get("source")
    if same_path and not path.exists():
        return True
    with _Sources(path) as files:
        if files.size != manifest.get("bytes"):
            return False
        return (same_path and files.modified == manifest.get("mtime_ns")) or files.digest() == manifest.get("sha256")


class _Sources(ExitStack):
    """The file of word vectors at `path`, or the files of the `model` in this directory, open.

    `first` is the file, `size` the sum of the sizes in bytes, `modified` the latest modification time in nanoseconds.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.model = find_model(path) if path.is_dir() else None
        paths = self.model.paths if self.model else [path]
        try:
            self._files = [self.enter_context(VectorFile(one)) for one in paths]
        except BaseException:
            self.close()
            raise
        self.first = self._files[0]
        self.size, self.modified = sum(one.size for one in self._files), max(one.modified for one in self._files)

    def digest(self) -> str:
        """Return the SHA-256 of the file, or of the digests of several."""
        digests = [one.digest() for one in self._files]
        return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def _read_pickled(path: Path, directory: Path, *, trust: bool) -> VectorTable:
    if not trust:
        raise VectorsError(
            f"{path} is a pickle, as gensim writes, and can run any code: give --trust-pickle if you trust its author, "
            "or save it with save_word2vec_format"
        )
    return read_pickled(path, directory)
