"""The abilities of a collection, each one record of its options with one answer."""

from typing import TYPE_CHECKING

from moverank.lazy_names import lazy_names as _lazy_names

if TYPE_CHECKING:
    from moverank.indexer.operations.dedupe import FindDuplicates as FindDuplicates
    from moverank.indexer.operations.dedupe import deduplicated as deduplicated
    from moverank.indexer.operations.documents import PAGE as PAGE
    from moverank.indexer.operations.documents import ListDocuments as ListDocuments
    from moverank.indexer.operations.documents import ShowDocument as ShowDocument
    from moverank.indexer.operations.explain import Explain as Explain
    from moverank.indexer.operations.explain import ExplainExclusion as ExplainExclusion
    from moverank.indexer.operations.operation_registry import operation_named as operation_named
    from moverank.indexer.operations.pairs import FindPairs as FindPairs
    from moverank.indexer.operations.search import Rerank as Rerank
    from moverank.indexer.operations.search import Search as Search
    from moverank.indexer.operations.search import Similar as Similar

if not TYPE_CHECKING:  # type checkers would accept any name, and do not compute `__all__`
    __all__, __getattr__, __dir__ = _lazy_names(globals())
