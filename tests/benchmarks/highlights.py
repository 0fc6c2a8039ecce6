"""Times searches with highlights, flows and passages beside the same search without.

Queries are the first words of documents of 20 Newsgroups; each search has ten hits. Times are medians in milliseconds,
`ratio` is to the plain search.
"""

import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection, Document, SearchOptions, Settings
from moverank.indexer.reading import read_documents
from tests.benchmarks.common import argument_parser, real, show_table, vectors

OPTIONS = {
    "plain": SearchOptions(),
    "highlight": SearchOptions(highlight=True),
    "explained": SearchOptions(explained=True),
    "passage of 40": SearchOptions(passage=40),
    "highlight, passage of 40": SearchOptions(highlight=True, passage=40),
}
WORDS = 12


def median(collection: Collection, queries: list[str], options: SearchOptions, rank: str) -> float:
    """Return the median seconds of searches, each of which has run once before."""
    seconds = []
    for query in queries:
        for _ in range(2):
            began = time.perf_counter()
            collection.search(query, options, rank=rank)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def main() -> None:
    """Print a row for each ranking and choice of options."""
    parser = argument_parser(__doc__)
    parser.add_argument("--queries", type=int, default=50, help="number of queries (50)")
    parser.add_argument("--documents", type=int, default=11_314, help="of 20 Newsgroups (11,314)")
    arguments = parser.parse_args()
    rows = []
    read = read_documents([str(real("data", "20news", "docs.jsonl.gz"))])
    documents = [one for one in read if isinstance(one, Document)][: arguments.documents]
    step = max(1, len(documents) // arguments.queries)
    beginnings = (" ".join(one.parts[0].text.split()[:WORDS]) for one in documents[::step] if one.parts)
    queries = [text for text in beginnings if text]
    own = Settings(embedding=str(vectors()))
    with TemporaryDirectory() as directory, Collection.create(Path(directory) / "index", own) as collection:
        collection.index(documents)
        for rank in ("wmd", "auto", "bm25"):
            medians = {name: median(collection, queries, options, rank) for name, options in OPTIONS.items()}
            plain = medians["plain"]
            rows += [[rank, name, f"{1000 * each:.1f}", f"{each / plain:.2f}"] for name, each in medians.items()]
    show_table(("ranking", "options", "ms", "ratio"), rows)


if __name__ == "__main__":
    main()
