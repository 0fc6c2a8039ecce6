"""Filters: conditions on labels and metadata, as in `year>=2019`, and the documents that meet them."""

from moverank.indexer.filters.comparable import sizes_of
from moverank.indexer.filters.few_documents import FewDocuments
from moverank.indexer.filters.matching import field_tests, matching_ids, why_none_passes
from moverank.indexer.filters.where import FORMS, Alternatives, Condition, alternatives

__all__ = [
    "FORMS",
    "Alternatives",
    "Condition",
    "FewDocuments",
    "alternatives",
    "field_tests",
    "matching_ids",
    "sizes_of",
    "why_none_passes",
]
