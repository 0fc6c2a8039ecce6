"""Read queries to the filter fields of documents."""

from collections.abc import Sequence

from sqlalchemy import select

from moverank.indexer.store.queries import Queries
from moverank.indexer.store.schema import FIELDS


class FieldReader(Queries):
    """Reads names and values of fields, and which documents have them."""

    def having(self, name: str) -> list[int]:
        """Return the ids of documents that have a field, once for each of its values."""
        return list(self._connection.scalars(select(FIELDS.c.document_id).where(FIELDS.c.name == name)).all())

    def distinct_values(self, name: str) -> list[str]:
        """Return the different values of a field."""
        return list(self._connection.scalars(select(FIELDS.c.value).where(FIELDS.c.name == name).distinct()).all())

    def matching(self, name: str, values: Sequence[str]) -> list[int]:
        """Return the ids of documents whose field has any of the values."""
        statement = select(FIELDS.c.document_id).where(FIELDS.c.name == name)
        return list({row.document_id for row in self._within(statement, FIELDS.c.value, values)})

    def values(self, name: str) -> list[tuple[int, str]]:
        """Return (document id, value) of a field."""
        statement = select(FIELDS.c.document_id, FIELDS.c.value).where(FIELDS.c.name == name)
        return [(id_, value) for id_, value in self._connection.execute(statement).all()]
