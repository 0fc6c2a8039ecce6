"""Typed units of texts carried to those of other texts by exact partial transport, with a certificate.

It adds the numerics of `indexer.plugins.evidence`, the other half of the plug-in: evidence of a claim in its sources,
and the changes between two versions. It needs POT through `rerank.distance.network_simplex`. The units themselves,
which deduplication reads, too, are `rerank.words.typed_units`.
"""
