"""What a dry run would do to each document, as lines of text or as JSON."""

from typing import Any

from moverank.indexer.documents import Changes
from moverank.indexer.formatters.json_objects import changes_object


class Planned:
    """The keys of the documents that a run would change, by what would happen to them."""

    def __init__(self) -> None:
        self.keys: dict[str, list[str]] = {"added": [], "updated": [], "removed": []}

    def add(self, change: str, key: str) -> None:
        """Store the key of a document that would be "added", "updated" or "removed"."""
        self.keys[change].append(key)

    def lines(self) -> list[str]:
        """Return a line for each document."""
        return [f"{change:<8} {key}" for change, keys in self.keys.items() for key in keys]

    def object(self, changes: Changes) -> dict[str, Any]:
        """Return the `changes` that would be made, and the keys of the documents."""
        return {**changes_object(changes), "dry_run": True, "keys": self.keys}
