"""The result of reading one record: a document, or the reason why the record is rejected."""

from moverank.indexer.documents import Document


class BadRecord(Exception):  # noqa: N818 - also a result that readers yield
    """A record that cannot become a document: the reason with its remedy, and the document's key if known."""

    def __init__(self, reason: str, key: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.key = key


ReadResult = tuple[int, Document | BadRecord]
"""The line at which a record starts (0 if it is the whole file), and its document or its fault."""
