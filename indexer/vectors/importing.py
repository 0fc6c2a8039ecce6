"""From a file of word vectors, or a name of gensim's, to an opened embedding."""

from pathlib import Path

from moverank.indexer.errors import VectorsError
from moverank.indexer.files.atomic_directory import building
from moverank.indexer.progress import Progress, silent
from moverank.indexer.vectors.download import download
from moverank.indexer.vectors.format_detection import is_pickle, read_table
from moverank.indexer.vectors.gensim_pickle import read_pickled
from moverank.indexer.vectors.layout import open_vectors, read_about
from moverank.indexer.vectors.vector_file import Source
from moverank.indexer.vectors.vector_rows import Table
from moverank.indexer.vectors.vectors_writer import write_about, write_vectors
from moverank.rerank.words.embedding import Embedding

_GENSIM = "gensim:"


def import_vectors(
    source: str, directory: Path, *, normalize: bool = False, trust_pickle: bool = False, progress: Progress = silent
) -> Embedding:
    r"""Read the word vectors of `source`, a path or `gensim:NAME`, into `directory`, and open them.

    Formats: word2vec binary and text, GloVe, fastText text and binary, any of them gzipped; gensim's own pickles only
    with `trust_pickle`. Vectors are brought to unit length with `normalize`; zero stays zero. The case of words is left
    as it is. Bytes of a word that are not UTF-8 are spelled like `\xe9`; where over 1 % of the words have such, the
    file is refused. Memory: the words and some megabytes. Raises VectorsError, and leaves nothing behind.
    """
    name = source.removeprefix(_GENSIM)
    path = Path(source).absolute() if name == source else download(name, progress)
    with building(directory) as folder, Source(path) as file:
        table = _pickled(path, folder, trust=trust_pickle) if is_pickle(file) else read_table(file, folder, progress)
        sizes = write_vectors(folder, table, str(path), normalize=normalize, progress=progress)
        recorded = str(path) if name == source else source
        about = {"source": recorded, "bytes": file.size, "mtime_ns": file.modified, "sha256": file.digest()}
        write_about(folder, {**sizes, **about})
    return open_vectors(directory)


def same_source(directory: Path, source: str) -> bool:
    """Tell whether `directory` was imported from `source`: the same name, or a file of the same content.

    A file at the recorded path is believed by its size and time, and read only where these differ; one that is gone
    from there is taken to be what it was. Raises VectorsError where there are no vectors, or none can be read.
    """
    about = read_about(directory)
    if source.startswith(_GENSIM):
        return bool(source == about.get("source"))
    path = Path(source).absolute()
    recorded = str(path) == about.get("source")
    if recorded and not path.exists():
        return True
    with Source(path) as file:
        if file.size != about.get("bytes"):
            return False
        return (recorded and file.modified == about.get("mtime_ns")) or file.digest() == about.get("sha256")


def _pickled(path: Path, folder: Path, *, trust: bool) -> Table:
    if not trust:
        raise VectorsError(
            f"{path} is a pickle, as gensim writes, and can run any code: give --trust-pickle if you trust its author, "
            "or save it with save_word2vec_format"
        )
    return read_pickled(path, folder)
