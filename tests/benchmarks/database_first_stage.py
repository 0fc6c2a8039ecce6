"""Compares the first stage of a PostgreSQL with that of files: the exact ten among the candidates, and time.

The documents are synthetic, made of 20 Newsgroups (with --documents 0, its training part); the queries are texts of its
test part. A collection in a directory (FAISS, all vectors compared) is copied into a database, whose candidates are
chosen in the exact order of the same vectors, then by an HNSW index. `recall` is the share of the exact ten by WMD
among the candidates, `ms` the median time of a search. The sides take turns, one query at a time. Target: recalls
within .01 of FAISS's.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

import psycopg

from moverank import Collection
from moverank.indexer.files.location import CACHE
from moverank.indexer.maintenance.backup import copy_collection
from tests.benchmarks.common import argument_parser, rotated, show, show_table, verdict
from tests.benchmarks.data_sets import Text, draw_queries, indexed, read_split
from tests.benchmarks.synthetic_documents import SyntheticDocuments
from tests.engines.postgres_server import postgres_server
from tests.oracle import Oracle

K = 10
DEPTHS = (100, 500)
_CLOSE = 0.01
_MEMORY = "1GB"  # of building an index; PostgreSQL's default, 64 MB, takes several times as long


def texts_of(documents: int, seed: int) -> list[Text]:
    """Return synthetic texts, or those of 20 Newsgroups' training part."""
    if not documents:
        return read_split("20news", "train")
    return [Text(f"t{i}", "", text) for i, text in enumerate(SyntheticDocuments(seed).texts(documents))]


def database(name: str) -> str:
    """Prepare the server, and return the URL of a schema in it."""
    with psycopg.connect(host=os.environ["PGHOST"], user="postgres", dbname="postgres", autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(f"ALTER ROLE postgres SET maintenance_work_mem = '{_MEMORY}'")
    return f"postgresql://postgres@/postgres?host={os.environ['PGHOST']}&schema={name}"


def timed(what: str, work: Callable[[], object]) -> None:
    """Do something, and print its time."""
    began = time.perf_counter()
    work()
    show(f"{what}: {time.perf_counter() - began:.1f} s")


def keys(collection: Collection, query: str, **options: Any) -> tuple[set[str], float]:
    """Search by WMD; return the keys of the hits, and the seconds of the call."""
    began = time.perf_counter()
    hits = collection.search(query, rank="wmd", **options).hits
    return {hit.key for hit in hits}, time.perf_counter() - began


def compared(sides: dict[str, Collection], queries: Sequence[str], exact: Sequence[set[str]]) -> list[list[object]]:
    """Search each query at each depth on all sides in turns; return a row for each side and depth."""
    rows: list[list[object]] = []
    for depth in DEPTHS:
        shares: dict[str, list[float]] = {name: [] for name in sides}
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        for collection in sides.values():
            keys(collection, queries[0], k=K, depth=depth)  # warm-up
        for turn, (query, ten) in enumerate(zip(queries, exact, strict=True)):
            for name in rotated(list(sides), turn):
                found, taken = keys(sides[name], query, k=K, depth=depth)
                shares[name].append(len(found & ten) / len(ten))
                seconds[name].append(taken)
        reference = statistics.fmean(next(iter(shares.values())))
        for name in sides:
            recall, median = statistics.fmean(shares[name]), statistics.median(seconds[name])
            rows.append(
                [name, depth, f"{recall:.3f}", f"{1000 * median:.1f}", verdict(abs(recall - reference) <= _CLOSE)]
            )
    return rows


def main() -> None:
    """Print a row for each side and depth; exit with 1 if a recall differs."""
    parser = argument_parser(__doc__)
    parser.add_argument("--documents", type=int, default=100_000, help="synthetic documents (100,000)")
    parser.add_argument("--queries", type=int, default=50, help="texts of the test part (50)")
    parser.add_argument("--seed", type=int, default=1, help="of the queries and the documents (1)")
    parser.add_argument("--encoder", default="centroid", help="encoder of documents (centroid)")
    parser.add_argument("--index", default="HNSW32", help="index of the database (HNSW32)")
    arguments = parser.parse_args()
    queries = [text.text for text in draw_queries("20news", arguments.queries, arguments.seed, Oracle().words)]
    with TemporaryDirectory() as name, postgres_server() as variables:
        os.environ |= variables | {CACHE: str(Path(name, "cache"))}
        texts = texts_of(arguments.documents, arguments.seed)
        with indexed(texts, Path(name), first_stage=arguments.encoder, faiss="Flat") as files:
            rows = measured(files, queries, arguments.index)
    show_table(("first stage", "depth", "recall", "ms", f"within {_CLOSE} of FAISS"), rows)
    sys.exit(any(row[-1] != verdict(met=True) for row in rows))


def measured(files: Collection, queries: Sequence[str], index: str) -> list[list[object]]:
    """Copy a collection into databases of both kinds, and return the rows of `compared`."""
    exact = [keys(files, query, k=K, exact=True)[0] for query in queries]
    show(f"{len(files):,} documents, {len(queries)} queries; exact tens are known")
    sides = {"FAISS, Flat": files}
    for label, factory, schema in (("pgvector, exact order", "Flat", "flat"), (f"pgvector, {index}", index, "hnsw")):
        url = database(schema)
        timed(f"copied for {label}", lambda url=url: copy_collection(files.path, url))  # type: ignore[misc]
        sides[label] = side = Collection.open(url)
        chosen = {"first_stage_in": "database", "faiss": factory}
        timed("its vectors written", lambda side=side, chosen=chosen: side.change_settings(**chosen))  # type: ignore[misc]
    rows = compared(sides, queries, exact)
    for label, side in list(sides.items())[1:]:
        made = [path.name for path in side.path.glob("snapshot-*")]
        show(f"{label}: {side.info()['database_stage']}, files of documents on this machine: {made or 'none'}")
        side.close()
    return rows


if __name__ == "__main__":
    main()
