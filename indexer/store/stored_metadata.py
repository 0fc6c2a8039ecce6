"""Metadata as a database stores them: a JSON object, unless the row is damaged."""

from typing import Any


class DamagedDocument(Exception):  # noqa: N818 - named after what was found
    """A row of a document that cannot have been written; `database_errors` turns it into CollectionError."""


def stored_metadata(value: object, key: str) -> dict[str, Any]:
    """Return the metadata of the document `key`, as the database has them; DamagedDocument if they are no object."""
    if not isinstance(value, dict):
        raise DamagedDocument(f"the document {key!r} has no metadata that can be read")
    return value
