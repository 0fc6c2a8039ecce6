"""The summary of a collection: what `moverank info` shows."""

from pathlib import Path
from typing import Any

from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.coverage import coverage
from moverank.indexer.snapshot.database_stage import StageRecord
from moverank.indexer.snapshot.index_choice import IndexInUse
from moverank.indexer.store import Reader
from moverank.rerank.words.embedding import Embedding


def summary(
    reader: Reader, directory: Path, settings: Settings, embedding: Embedding | None, index: IndexInUse | None
) -> dict[str, Any]:
    """Return sizes, revision and settings by name.

    `reader`, `directory`, `settings` and `embedding` are the collection's; `index` is the FAISS index in use.
    """
    sizes = {
        "documents": reader.document_count(),
        "parts": reader.part_count(),
        "wordless": reader.wordless_count(),
        "words": reader.word_count(),
        "known_words": reader.word_count(known=True),
        "given_vectors": reader.vector_count(),
        "given_dim": reader.vector_dim(),
        "coverage": coverage(reader, directory, settings, embedding).share,
        "fields": reader.field_names(),
        "revision": reader.revision(),
        "dim": embedding.dim if embedding else 0,
        "vectors": len(embedding.words) if embedding else 0,
        "bytes": sum(file.stat().st_size for file in directory.rglob("*") if file.is_file()),
    }
    choices = settings.stored() | {"stop_words": len(settings.stop_words)}
    record = StageRecord.of(reader.settings())
    in_use = {"faiss_in_use": index.factory if index else None, "database_stage": str(record) if record else None}
    return sizes | choices | in_use
