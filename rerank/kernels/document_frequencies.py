"""Document frequencies of words."""

from moverank.rerank.kernels.compiled import compiled


@compiled()
def count_documents(starts, words, live, frequencies):  # type: ignore[no-untyped-def]
    """Add to `frequencies` (v,) int64 in how many of the rows that are `live` (n,) each word occurs.

    The rows are compressed sparse ones, `starts` (n + 1,) and `words` (nnz,), in which equal words are neighbours.
    """
    for row in range(len(live)):
        if live[row]:
            for entry in range(starts[row], starts[row + 1]):
                if entry == starts[row] or words[entry] != words[entry - 1]:
                    frequencies[words[entry]] += 1
