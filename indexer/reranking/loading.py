"""Loads a reranker: word vectors from a file or a name, or all that a collection stores of its texts' weights."""

from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from moverank.indexer.collection import Collection
from moverank.indexer.ranking_spec import RankingSpec, resolve
from moverank.indexer.settings import Settings
from moverank.indexer.vectors.importing import import_vectors

_Reranker = TypeVar("_Reranker")


def load(make: Callable[..., _Reranker], source: str | Path, options: Mapping[str, Any]) -> _Reranker:
    """Return `make(embedding, **options)` with the word vectors of a file or collection; see `Reranker.load`."""
    path, options = str(source), {name: value for name, value in options.items() if value is not None}
    if not path.startswith("gensim:") and Collection.exists(path):
        return _from_collection(make, path, options)
    given = dict(options)
    normalize, trust = (bool(given.pop(name, False)) for name in ("normalize", "trust_pickle"))
    with TemporaryDirectory(prefix="moverank-") as directory:
        vectors = Path(directory) / "vectors"
        embedding = import_vectors(path, vectors, normalize=normalize, trust_pickle=trust).in_memory()
    return make(embedding, **given)


def _from_collection(make: Callable[..., _Reranker], path: str, options: Mapping[str, Any]) -> _Reranker:
    with Collection.open(path) as collection:
        own = collection.settings
        stored = stored_options(own)
        ranking = resolve(options.get("rank"), None, own.ranking)
        if "frequencies" not in options:
            stored["frequencies"] = collection.document_frequencies(stems_of(ranking))
        return make(collection.embedding, **{**stored, **options})


def stored_options(own: Settings) -> dict[str, Any]:
    """Return the options of a `Reranker` that weights texts as a collection with these settings does."""
    return {
        "stop_words": own.stop_words,
        "rank": own.specification,
        "gamma": own.gamma,
        "weights": own.weights,
        "title_weight": own.title_weight,
    }


def stems_of(ranking: RankingSpec) -> set[str]:
    """Return the languages of a ranking's stems."""
    return {scorer.stem for scorer in ranking.counted if scorer.stem}
