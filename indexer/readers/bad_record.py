"""What a reader finds: a document, or why there is none."""

from moverank.indexer.documents import Document


class BadRecord(Exception):  # noqa: N818 - it is a finding that readers hand on, not a failure of theirs
    """A record that cannot become a document: what to mend, and the key of the document meant where it is known."""

    def __init__(self, reason: str, key: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.key = key


Found = tuple[int, Document | BadRecord]
"""The line that a record starts at (0 where it is the whole file), and what it is."""
