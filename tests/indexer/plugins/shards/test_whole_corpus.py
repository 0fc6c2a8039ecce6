"""All documents of a collection in shards, read for experiments: they are those of one collection."""

from collections import Counter

import numpy as np
import pytest

from moverank import Document
from moverank.indexer.errors import UsageError
from moverank.indexer.reranking.whole_corpus import WholeCorpus
from tests.indexer.plugins.shards.conftest import MakeCluster
from tests.indexer.world import NO_VECTOR, WORDS, MakeCollection, document

pytestmark = pytest.mark.usefixtures("local")


def _documents() -> list[Document]:
    rng, found = np.random.default_rng(7), []
    for i in range(50):
        posts = [" ".join(rng.choice([*WORDS, *NO_VECTOR], int(rng.integers(1, 9)))) for _ in range(1 + i % 3)]
        fields = {"votes": i, "split": "test" if i % 4 else "train"}
        found.append(document(f"d{i}", *posts, label=f"l{i % 2}", metadata=fields))
    return [*found, document("wordless", "", metadata={"votes": -99})]


def _counts(whole: WholeCorpus) -> dict[str, Counter[tuple[str, int]]]:
    """Return how often each word occurs in the parts of each rank, by key."""
    counts, words = whole.texts.counts, whole.texts.vocabulary.words
    found = {}
    for row, key in enumerate(whole.texts.keys):
        own = slice(counts.starts[row], counts.starts[row + 1])
        named = zip(counts.words[own].tolist(), counts.ranks[own].tolist(), counts.counts[own].tolist(), strict=True)
        found[key] = Counter({(words[word], rank): count for word, rank, count in named})
        assert np.all(np.diff(counts.words[own]) >= 0)
    return found


def test_documents_are_counted_as_their_texts_say(make_cluster: MakeCluster, make_collection: MakeCollection) -> None:
    documents = _documents()
    expected = {
        each.key: Counter((word, part.rank) for part in each.parts for word in part.text.split())
        for each in documents[:-1]
    }
    one = make_collection(documents)
    for collection in (make_cluster(documents, 3), make_cluster(documents, 1), one):
        whole = WholeCorpus.of(collection, ["zebra", "ant"], ["votes"])
        assert _counts(whole) == expected
        assert {"zebra", "ant"} <= set(whole.texts.vocabulary.words)
        assert whole.splits == {each.key: each.metadata["split"] for each in documents[:-1]}
        assert dict(zip(whole.texts.keys, whole.texts.labels, strict=True)) == {
            each.key: each.label for each in documents[:-1]
        }
        assert whole.texts.documents == len(documents)
        known = {
            word for word, has in zip(whole.texts.vocabulary.words, whole.texts.vocabulary.known, strict=True) if has
        }
        assert known == set(whole.texts.vocabulary.words) & set(WORDS)


def test_ids_name_the_documents_of_all_shards(make_cluster: MakeCluster, make_collection: MakeCollection) -> None:
    documents = _documents()
    one = make_collection(documents)
    samples = []
    for collection in (make_cluster(documents, 3), one):
        whole = WholeCorpus.of(collection, (), ["votes"])
        ids, votes = np.array(whole.texts.ids), whole.priors["votes"]
        assert np.all(np.diff(ids) > 0)
        assert np.all(np.diff(votes.ids) > 0)
        number = dict(zip(votes.ids.tolist(), votes.values.tolist(), strict=True))
        assert {key: number.pop(id_) for key, id_ in zip(whole.texts.keys, ids.tolist(), strict=True)} == {
            each.key: each.metadata["votes"] for each in documents[:-1]
        }
        assert list(number.values()) == [-99]  # of a document without a word: it counts in the range of the field
        assert whole.texts.sample
        key_of = dict(zip(ids.tolist(), whole.texts.keys, strict=True))
        samples.append([key_of[id_] for id_ in whole.texts.sample.ids.tolist()])
    assert samples[0] == samples[1]


def test_a_field_without_numbers_is_refused(make_cluster: MakeCluster) -> None:
    with pytest.raises(UsageError, match="no document has a number in the field 'likings'"):
        WholeCorpus.of(make_cluster(_documents(), 2), (), ["likings"])
