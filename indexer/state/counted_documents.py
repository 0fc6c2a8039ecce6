"""All documents of a collection that have a word, counted: experiments and near duplicates compare all of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.search.priors import prior_of
from moverank.indexer.search.query import Prior
from moverank.indexer.snapshot.content_sample import SAMPLE, ContentSample
from moverank.indexer.snapshot.segment import Terms
from moverank.indexer.store import Reader
from moverank.rerank.bags.weights import PartCounts

_SPLIT, _PARTS = "split", ("train", "test")  # the metadata field with a document's part of a split, and its values


@dataclass(frozen=True, slots=True, eq=False)
class CountedDocuments:
    """The documents of a collection, or of one of its shards, that have a word, row by row."""

    ids: NDArray[np.int64]  # (n,), increasing
    keys: tuple[str, ...]  # (n,)
    titles: tuple[str, ...]  # (n,)
    labels: tuple[str | None, ...]  # (n,)
    counts: PartCounts  # n rows of indices of `words`
    words: Sequence[str]
    splits: Mapping[str, str]  # the part, train or test, of documents with a field `split`, by key
    priors: Mapping[str, Prior]  # numbers in fields; those that no document has are left out
    sample: ContentSample
    total: int  # the number of all documents
    last_id: int  # no document has a larger id

    @classmethod
    def of(cls, reader: Reader, fields: Iterable[str]) -> Self:
        """Read the documents, with the numbers in some fields."""
        terms = Terms.stored(list(reader.counted_parts()))
        ids, texts = terms.ids.tolist(), {word.id: word.word for word in reader.all_words()}
        shown = reader.shown(ids)
        keys = {id_: shown[id_].key for id_ in ids}
        parts = _PARTS if _SPLIT in reader.field_names() else ()
        return cls(
            terms.ids,
            tuple(keys.values()),
            tuple(shown[id_].title for id_ in ids),
            tuple(shown[id_].label for id_ in ids),
            terms.counts,
            [texts[id_] for id_ in terms.word_ids.tolist()],
            {keys[id_]: part for part in parts for id_ in reader.ids_with_value(_SPLIT, [part]) if id_ in keys},
            {name: prior for name in fields if (prior := prior_of(reader, name))},
            ContentSample.of(reader.least_digests(SAMPLE)),
            reader.document_count(),
            reader.last_document_id(),
        )

    def after(self, id_: int) -> "CountedDocuments":
        """Return the same documents with ids above `id_`, up to which other shards use the ids."""
        return replace(
            self,
            ids=self.ids + id_,
            priors={name: Prior(own.ids + id_, own.values) for name, own in self.priors.items()},
            sample=self.sample._replace(ids=self.sample.ids + id_),
            last_id=self.last_id + id_,
        )
