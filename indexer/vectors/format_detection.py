"""Which format a file of word vectors has: its content says so, not its name."""

import re
from pathlib import Path

from moverank.indexer.errors import VectorsError
from moverank.indexer.progress import Progress
from moverank.indexer.vectors.fasttext_format import MAGIC, read_fasttext
from moverank.indexer.vectors.text_format import MAX_LINE, numbers_at_end, read_text
from moverank.indexer.vectors.vector_file import Source
from moverank.indexer.vectors.vector_rows import MAX_DIM, Table
from moverank.indexer.vectors.word2vec_format import read_binary

_HEADER = re.compile(rb"[ \t]*(\d{1,18})[ \t]+(\d{1,18})[ \t]*\r?\n")
_PEEKED = 1 << 16
# Text has none of these; float32 numbers soon do.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_KNOWN = "word2vec (.bin, .txt), GloVe and fastText (.vec, .bin) files are known, any of them gzipped"


def is_pickle(source: Source) -> bool:
    """Tell whether the file starts as pickles do; no text and no other format does."""
    return source.peek(1) == b"\x80"


def read_table(source: Source, folder: Path, progress: Progress) -> Table:
    """Return the rows of any format but gensim's own; `folder` is for what has to go to disk first.

    Raises VectorsError, now or while rows are taken.
    """
    head = source.peek(_PEEKED)
    if not head.strip():
        raise VectorsError(f"{source.path} is empty: it holds no word vectors")
    if head.startswith(MAGIC):
        return read_fasttext(source, folder, progress)
    if head.startswith(b"PK\x03\x04"):
        raise VectorsError(f"{source.path} is a zip archive: unpack it and give the file of word vectors inside")
    header = _HEADER.match(head)
    if header:
        return _read_with_header(source, header, head[header.end() :])
    dim = numbers_at_end(_first_line(source, head))
    if not dim:
        raise VectorsError(f"{source.path} is no file of word vectors: {_KNOWN}")
    return read_text(source, None, dim)


def _read_with_header(source: Source, header: re.Match[bytes], sample: bytes) -> Table:
    count, dim = int(header[1]), int(header[2])
    if not count or not 0 < dim <= MAX_DIM:
        raise VectorsError(f"{source.path}, line 1 promises {count} words of {dim} numbers: mend the header")
    binary = _is_binary(source, sample, dim)
    least = count * (dim * 4 + 2) if binary else count * (dim * 2 + 1)
    if not source.zipped and least + header.end() - 1 > source.size:  # the last newline may be missing
        raise VectorsError(
            f"{source.path}, line 1 promises {count} words of {dim} numbers, at least {least} bytes, "
            f"but the file has {source.size}: it is cut short or its header is wrong"
        )
    source.read(header.end())
    return read_binary(source, count, dim) if binary else read_text(source, count, dim)


def _is_binary(source: Source, sample: bytes, dim: int) -> bool:
    """Tell whether numbers follow as float32; a first line that reads as text is text, whatever its name says."""
    line, newline, _ = sample.partition(b"\n")
    if (newline or len(sample) < _PEEKED // 2) and numbers_at_end(line) >= dim:
        return False
    return source.suffix == ".bin" or _CONTROL.search(sample) is not None


def _first_line(source: Source, head: bytes) -> bytes:
    line, newline, _ = (head if b"\n" in head else source.peek(MAX_LINE)).partition(b"\n")
    if not newline and len(line) == MAX_LINE:
        raise VectorsError(f"{source.path} is no file of word vectors: {_KNOWN}")
    return line
