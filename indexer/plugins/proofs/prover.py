"""Writes the proof of a search: the documents' bags, a plan for each hit, and numbers that exclude all others.

The format of the file is defined in `verify`, `ARRAYS` and `MEMBERS`, which must run alone.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.errors import IndexerError, UsageError
from moverank.indexer.files.atomic_write import check_writable, named_file
from moverank.indexer.operations.explain import QueryOrKey
from moverank.indexer.operations.operation import UNLIMITED, OperatedState, Operation, Work
from moverank.indexer.plugins.proofs.exclusion import Exclusion, document_bag, solved
from moverank.indexer.plugins.proofs.verify import ARRAYS, MAGIC, MEMBERS, Proof, lower_bounds, upper_bound
from moverank.indexer.search.query import Outcome, Query
from moverank.indexer.search.view import View
from moverank.indexer.state.open_state import OpenState
from moverank.indexer.store import Reader
from moverank.indexer.values.option import Option
from moverank.indexer.values.ranking_spec import TRANSPORT, RankingSpec, distance_of
from moverank.indexer.values.search_options import Gamma, Progress, Rank, SearchOptions
from moverank.rerank.answer import Answer
from moverank.rerank.distance.ground_cost import vector_norms
from moverank.rerank.errors import TransportError
from moverank.rerank.ranking import Ranking

_TOLERANCE = 1e-9  # of the largest length of a vector
_NO_MOVES = (np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Prove(QueryOrKey, Operation[Ranking]):
    """Search for a text, a record or a stored document, and write a proof of the result to a file."""

    NAME: ClassVar = "prove"
    ANSWER: ClassVar = Ranking
    SERVED: ClassVar = False

    path: Annotated[str | Path, Option("The file, which is replaced atomically.")]
    options: SearchOptions = field(default_factory=SearchOptions)

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Ranking:
        """Return the ranking.

        Raises UsageError for a search that has no proof, TransportError if a distance is not exact enough, TooLarge
        beyond the size of the answer, and IndexerError if the file cannot be written.
        """
        state, path, options = in_one_place(state, "--proof"), Path(self.path), self.options
        request = self.compared(state)
        check_writable(path)
        _check_options(options)
        search = state.searcher.begun(request, options)
        _check_query(search.query)
        outcome = search.run()
        ranking = state.searcher.ranking(search, outcome, options)  # its errors are raised before the file is written
        ids, documents = collected(state.reader, search.view, search.query.ranking)
        proof = _with_hits(_with_query(documents, search.query, ids), outcome, ids, work.progress)
        _write(proof, options.k, path)
        return ranking


@dataclass(frozen=True, slots=True)
class Digested(Answer):
    """What proofs of searches say of the collection."""

    digest: str
    """The digest of its documents, by the ranking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest(Operation[Digested]):
    """Compute the digest of all documents' keys, bags and vectors, by a ranking, that proofs of it have."""

    NAME: ClassVar = "digest"
    ANSWER: ClassVar = Digested
    SERVED: ClassVar = False

    rank: Rank = None
    gamma: Gamma = None

    def run(self, state: OperatedState, work: Work = UNLIMITED) -> Digested:  # noqa: ARG002 - it has no stages
        """Return the digest, without a ranking by the collection's distance; UsageError for one without proofs."""
        state = in_one_place(state, "--digest")
        rank, gamma = distance_of(self.rank, self.gamma, state.settings.ranking)
        ranking = state.searcher.query(SearchOptions(rank=rank, gamma=gamma)).ranking
        _check_ranking(ranking)
        _, documents = collected(state.reader, state.view, ranking)
        return Digested(documents.collection_digest())


def in_one_place(state: OperatedState, option: str) -> OpenState:
    """Return the state of a collection in one place; UsageError for one in shards, which has no `option`."""
    if isinstance(state, OpenState):
        return state
    raise UsageError(f"{option} is of a collection in one place: a collection in shards has none")


def _check_options(options: SearchOptions) -> None:
    """Raise UsageError for options with which a search does not cover the whole collection."""
    chosen = {
        "--where": options.where,
        "--group-by": options.group_by,
        "--budget": options.budget,
        "--max-distance": options.max_distance,
        "--percentile": options.percentile or None,
        "stop": options.stop,
        "--depth without --exact": None if options.exact else options.depth,
    }
    named = [name for name, value in chosen.items() if value is not None]
    if named:
        raise UsageError(f"a proof covers the whole collection: leave out {', '.join(named)}, and take --exact")


def _check_query(query: Query) -> None:
    _check_ranking(query.ranking)
    if query.depth is not None and not query.prove:
        raise UsageError("a proof covers the whole collection, which is only searched with --exact")


def _check_ranking(ranking: RankingSpec) -> None:
    if ranking.plain not in TRANSPORT:
        raise UsageError(f"only wmd or pwmd alone is proven, not {ranking}: take --rank wmd --exact")


def collected(reader: Reader, view: View, ranking: RankingSpec) -> tuple[NDArray[np.int64], Proof]:
    """Return the documents as a proof has them, in the order of their keys, after their ids (n,).

    The proof has the words of the documents, sorted by text. Python compares texts as UTF-8 does.
    """
    joined = view.all_bags(ranking.gamma, ranking.weights)
    key_of = reader.keys(joined.ids.tolist())
    text_of = {word.id: word.word for word in reader.words_of(joined.word_ids.tolist())}
    keys = [key_of[id_] for id_ in joined.ids.tolist()]
    words = [text_of[id_] for id_ in joined.word_ids.tolist()]
    by_key, by_word = _order(keys), _order(words)
    bags, number = joined.bags.take(by_key), np.empty(len(words), np.int32)
    number[by_word] = np.arange(len(words), dtype=np.int32)
    numbers = number[bags.words]
    entries = np.lexsort((numbers, np.repeat(np.arange(len(bags)), np.diff(bags.starts))))
    return joined.ids[by_key], Proof(
        n=len(keys),
        w=len(words),
        d=view.dim,
        without=None,
        without_bag=reader.document_count() - len(keys),
        revision=view.revision,
        gamma=ranking.gamma,
        weights=ranking.weights,
        bag_starts=bags.starts,
        bag_words=numbers[entries],
        bag_weights=bags.weights[entries],
        vectors=joined.vectors[by_word],
        **_packed("key", [keys[i] for i in by_key.tolist()]),
        **_packed("word", [words[i] for i in by_word.tolist()]),
    )


def _order(texts: list[str]) -> NDArray[np.int64]:
    return np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)


def _packed(name: str, texts: list[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of the texts `word` or `key`."""
    encoded = [text.encode() for text in texts]
    starts = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return {f"{name}_starts": starts, f"{name}_bytes": np.frombuffer(b"".join(encoded), np.uint8)}


def _with_query(proof: Proof, query: Query, ids: NDArray[np.int64]) -> Proof:
    """Return the documents, with the ids (n,), and the words of a query; those that no document has come last."""
    words, known = query.words, proof.texts("word")
    number = {text: i for i, text in enumerate(known)}
    new = sorted(set(words.texts) - set(number))
    number |= {text: i for i, text in enumerate(new, start=len(known))}
    numbers = np.array([number[text] for text in words.texts], np.int32)
    order = np.argsort(numbers)
    weights, without = words.weights[order], None
    if query.without is not None:
        without = int(np.flatnonzero(ids == query.without)[0])
        weights = document_bag(proof, without).weights  # rounded alike
    vectors = np.concatenate([proof.vectors, words.vectors[order][len(order) - len(new) :]])
    longest = np.zeros(1) if not proof.w else proof.vectors[np.argmax(vector_norms(proof.vectors))].astype(np.float64)
    changed = {"h": len(order), "query_words": numbers[order], "query_weights": weights, "vectors": vectors}
    changed |= {"without": without, "tolerance": _TOLERANCE * float(np.sqrt(longest @ longest))}
    return Proof(**vars(proof) | changed | _packed("word", [*known, *new]))


def _with_hits(proof: Proof, outcome: Outcome, ids: NDArray[np.int64], progress: Progress) -> Proof:
    """Return the proof with the hits of an outcome, and with potentials that exclude all other documents."""
    by_id = np.argsort(ids)
    hits = by_id[np.searchsorted(ids, outcome.ids, sorter=by_id)]
    exclusion, plans = Exclusion(proof, progress), []
    for hit in hits.tolist():
        u, moves = solved(proof, hit)
        exclusion.add(u, np.array([hit]))
        plans.append(moves)
    mass, source, target = (np.concatenate(column) for column in zip(_NO_MOVES, *plans, strict=True))
    starts = np.cumsum([0, *(len(own) for own, _, _ in plans)])
    changed = {"hits": hits, "distances": outcome.distances, "plan_starts": starts, "plan_mass": mass}
    proof = Proof(
        **vars(proof) | changed | {"plan_query": source.astype(np.int32), "plan_document": target.astype(np.int32)}
    )
    farthest = max(_checked_hits(proof, exclusion), default=0.0)
    others = np.setdiff1d(np.arange(proof.n), [*hits.tolist(), *([] if proof.without is None else [proof.without])])
    exclusion.exclude(others, farthest - proof.tolerance / 2)
    potentials = {"potentials": np.array(exclusion.potentials), "potential_of": exclusion.potential_of}
    return Proof(**vars(proof) | potentials)


def _checked_hits(proof: Proof, exclusion: Exclusion) -> Iterator[float]:
    """Yield upper bounds of the distances of the hits; TransportError unless they prove the distances."""
    for hit, (document, distance) in enumerate(zip(proof.hits.tolist(), proof.distances.tolist(), strict=True)):
        upper = upper_bound(proof, hit)
        u = exclusion.potentials[exclusion.potential_of[document]]
        lower = float(lower_bounds(proof, u, np.array([document]))[0])
        if not distance - proof.tolerance / 2 <= lower <= upper <= distance + proof.tolerance / 2:
            raise TransportError(f"the distance {distance} was not found exactly enough for a proof")
        yield upper


def _write(proof: Proof, k: int, path: Path) -> None:
    """Write the file atomically; IndexerError if that fails."""
    header: dict[str, Any] = {"k": k, "digest": proof.collection_digest()}
    arrays = [np.ascontiguousarray(getattr(proof, name), kind) for name, kind, *_ in ARRAYS]
    for (_, _, letters, _), array in zip(ARRAYS, arrays, strict=True):
        sizes = zip(letters.split("*"), array.shape, strict=True)
        header |= {letter[0]: size - letter.endswith("+1") for letter, size in sizes}
    header |= {name: getattr(proof, name) for name in MEMBERS if name not in header}
    line = json.dumps(header, sort_keys=True)
    line += " " * (-(len(MAGIC) + 65 + len(line) + 1) % 8) + "\n"  # so that arrays are aligned
    content: list[bytes | memoryview] = [line.encode(), *(array.data.cast("B") for array in arrays if array.size)]
    checksum = sha256()
    for part in content:
        checksum.update(part)
    try:
        with named_file(path) as file:
            file.write(f"{MAGIC}{checksum.hexdigest()}\n".encode())
            file.writelines(content)
    except OSError as error:
        raise IndexerError(f"{path}: cannot be written: {error.strerror}") from error
