"""Checks searches: proves some, whose queries are stored documents, and verifies the proofs."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, ClassVar

from moverank.indexer.operations.operation import UNLIMITED, OperatedState, Operation, Work
from moverank.indexer.plugins.proofs.prover import Digest, Prove, in_one_place
from moverank.indexer.plugins.proofs.verify import ProofRejected, verify
from moverank.indexer.state.open_state import OpenState
from moverank.indexer.values.option import Option
from moverank.indexer.values.ranking_spec import distance_of
from moverank.indexer.values.search_options import SearchOptions
from moverank.rerank.answer import Answer
from moverank.rerank.errors import NoKnownWords, TransportError

_K = 10


@dataclass(frozen=True, slots=True)
class CheckedSearches(Answer):
    """What is wrong with the searches that were proven."""

    problems: tuple[str, ...]
    """A sentence for each search without a proof."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSearches(Operation[CheckedSearches]):
    """Prove searches by the collection's distance, for documents chosen at random, and verify each proof."""

    NAME: ClassVar = "check-searches"
    ANSWER: ClassVar = CheckedSearches
    SERVED: ClassVar = False

    searches: Annotated[int, Option("How many searches are proven.", least=0)]

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> CheckedSearches:
        """Return the problems; progress is reported after each search, and documents without a bag are passed over."""
        problems = []
        found = _problems(in_one_place(state, "--searches"))
        for done, problem in enumerate(islice(found, self.searches), start=1):
            problems += [problem] if problem else []
            work.progress("verifying searches", done, self.searches, "searches")
        return CheckedSearches(tuple(problems))


def _problems(state: OpenState) -> Iterator[str | None]:
    """Yield why the search for each document is not proven, or None if it is, in a random order, always the same."""
    rank, gamma = distance_of(None, None, state.settings.ranking)
    options = SearchOptions(k=_K, rank=rank, gamma=gamma, exact=True)
    digest = Digest().run(state).digest
    with state.contents() as contents, TemporaryDirectory() as directory:
        file, keys = Path(directory, "proof"), list(contents.keys())
        random.Random(0).shuffle(keys)  # noqa: S311 - no secret
        for key in keys:
            try:
                Prove(path=file, query=contents.get(key), options=options).run(state)
                verify(file, digest, _K)
                yield None
            except NoKnownWords:
                continue
            except (ProofRejected, TransportError) as error:
                yield f"the search for the document {key!r} is not proven: {error}"
