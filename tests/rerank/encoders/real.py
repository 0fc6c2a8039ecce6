"""Documents of real data sets, over real word vectors."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors

from moverank.rerank.bags.bag import Bag, Bags
from moverank.rerank.encoders.encoder import Documents
from moverank.rerank.words.tokenizer import Tokenizer, stop_words


def real_documents(shared: Path, name: str, count: int) -> Documents:
    """Return the first `count` documents of the data set `name` with known words; skips the test if it is absent."""
    file, vectors = shared / "data" / name / "docs.jsonl.gz", shared / "vectors" / "minilm-words-200d.bin"
    for path in (file, vectors):
        if not path.exists():
            pytest.skip(f"{path} is not there")
    keyed = KeyedVectors.load_word2vec_format(str(vectors), binary=True)
    tokenizer = Tokenizer(stop_words())
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        counted = [tokenizer.count(json.loads(line)["text"]) for line in lines]
    known = [{keyed.key_to_index[w]: c for w, c in counts.items() if w in keyed.key_to_index} for counts in counted]
    texts = [counts for counts in known if counts][:count]
    used = np.array(sorted({word for counts in texts for word in counts}), np.int64)
    bags = [Bag.of(np.searchsorted(used, list(counts)), list(counts.values())) for counts in texts]
    lengths = np.array([sum(counts.values()) for counts in texts], np.float64)
    return Documents(Bags.of(bags), lengths, used, np.array(keyed.vectors[used], np.float32))
