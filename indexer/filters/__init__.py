"""Filters: conditions on labels and metadata, as in `year>=2019`, and the documents that meet them."""

from moverank.indexer.filters.comparable import sizes_of
from moverank.indexer.filters.matching import (
    document_test,
    field_tests,
    filtered_documents,
    matching_ids,
    why_none_passes,
)
from moverank.indexer.filters.where import FORMS, Alternatives, Condition, alternatives

__all__ = [
    "FORMS",
    "Alternatives",
    "Condition",
    "alternatives",
    "document_test",
    "field_tests",
    "filtered_documents",
    "matching_ids",
    "sizes_of",
    "why_none_passes",
]
