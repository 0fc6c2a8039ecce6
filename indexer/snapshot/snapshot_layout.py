"""The files of a snapshot.

A snapshot is a directory `snapshot-REVISION` with derived data of the collection at one revision: arrays of counts
(of the words with a vector, and as `term_...` of all words), bags, word vectors, the first stage and its encoder, or
the given vectors in its place.
Every file has a checksum in `meta.json`, which contains its own. All of it can be rebuilt from the store.
"""

FORMAT = 4
PREFIX, REMOVED, META = "snapshot-", "removed-snapshot-", "meta.json"
FIRST_STAGE, ENCODER = "first_stage.faiss", "encoder.npz"
STAGE_IDS, STAGE_VECTORS = "stage_ids", "stage_vectors"
STAGE = {STAGE_IDS: "<i8", STAGE_VECTORS: "<f4"}
"""The ids of the documents in the first stage, and their vectors; kept only if these were given."""

SAMPLE = "sample"
"""A sample of the documents; see `content_sample`. Snapshots of earlier versions have none."""

COUNTS = {"ids": "<i8", "starts": "<i8", "words": "<i4", "counts": "<i4", "ranks": "<i4"}
ARRAYS = (
    COUNTS
    | {f"term_{name}": kind for name, kind in COUNTS.items()}
    | {"bag_starts": "<i8", "bag_words": "<i4", "weights": "<f8"}
)
VOCABULARY = {"word_ids": "<i8", "all_word_ids": "<i8", "vectors": "<f4"}

OMITTED_IF_UNRANKED = ("ranks", "term_ranks", "bag_starts", "bag_words")
"""Arrays omitted if every part has rank 0 and no title counts: bags then have the rows and words of the counts."""
SAME_AS = {"bag_starts": "starts", "bag_words": "words"}
