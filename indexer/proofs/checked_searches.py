"""Checks searches: proves some, whose queries are stored documents, and verifies the proofs."""

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from moverank.indexer.proofs.verify import ProofRejected, verify
from moverank.indexer.ranking_spec import distance_of
from moverank.indexer.search_options import Progress
from moverank.rerank.errors import NoKnownWords, TransportError

if TYPE_CHECKING:  # it imports this room
    from moverank.indexer.collection import Collection

_K = 10


def check_searches(collection: "Collection", number: int, progress: Progress) -> tuple[str, ...]:
    """Prove `number` searches by the collection's distance, for documents chosen at random, and verify each proof.

    Returns a sentence for each search without a proof. `progress` is called after each; documents without a bag, or
    that another process removes meanwhile, are passed over.
    """
    problems = []
    for done, problem in enumerate(islice(_problems(collection), number), start=1):
        problems += [problem] if problem else []
        progress("verifying searches", done, number, "searches")
    return tuple(problems)


def _problems(collection: "Collection") -> Iterator[str | None]:
    """Yield why the search for each document is not proven, or None if it is, in a random order, always the same."""
    rank, gamma = distance_of(None, None, collection.settings.ranking)
    digest, keys = collection.digest(), list(collection.keys())
    random.Random(0).shuffle(keys)  # noqa: S311 - no secret
    with TemporaryDirectory() as directory:
        file = Path(directory, "proof")
        for key in keys:
            document = collection.get(key)
            if document is None:
                continue
            try:
                collection.prove(file, document, rank=rank, gamma=gamma, exact=True, k=_K)
                verify(file, digest, _K)
                yield None
            except NoKnownWords:
                continue
            except (ProofRejected, TransportError) as error:
                yield f"the search for the document {key!r} is not proven: {error}"
