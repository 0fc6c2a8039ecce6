from tests.indexer.commands.conftest import call, collection, documents, empty, prepared, prepared_empty, vectors

__all__ = ["call", "collection", "documents", "empty", "prepared", "prepared_empty", "vectors"]
