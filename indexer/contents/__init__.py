"""What a collection holds: documents by key, in order, and by filter; each reading sees one consistent state."""

from moverank.indexer.contents.contents import Contents
from moverank.indexer.contents.description import Description
from moverank.indexer.contents.stored_documents import StoredDocuments

__all__ = ["Contents", "Description", "StoredDocuments"]
