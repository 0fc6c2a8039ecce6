"""Checks for the tests of packages that plug an encoder or a scorer of their own into moverank, by pytest or without.

`check_encoder(MyEncoder, {"dim": "4"})` runs the whole contract; `ENCODER_CHECKS` are its parts, for parametrised
tests. `random_documents` and `varied_documents` make documents for further tests. `check_scorer` and `SCORER_CHECKS`
are the same for scorers.
"""

from moverank.rerank.testing.encoder_checks import ENCODER_CHECKS, check_encoder
from moverank.rerank.testing.sample_documents import random_documents, varied_documents
from moverank.rerank.testing.scorer_checks import SCORER_CHECKS, check_scorer

__all__ = [
    "ENCODER_CHECKS",
    "SCORER_CHECKS",
    "check_encoder",
    "check_scorer",
    "random_documents",
    "varied_documents",
]
