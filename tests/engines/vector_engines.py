"""Six vector engines behind one function, filled with any vectors, as their own introductions show them.

Each keeps the text and the metadata of an item, as far as it can; FAISS holds nothing but vectors. Vectors have unit
length, and scores are cosines.
"""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Item:
    """What an engine stores beside a vector: a key, a text, and metadata of text and numbers."""

    key: str
    text: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate as the engine returns it, and its score: larger is better."""

    item: Item
    score: float


Nearest = Callable[[Vectors, int], list[Found]]
"""Returns the items whose vectors are nearest to a vector (d,), at most so many, nearest first."""


@contextmanager
def _faiss(items: Sequence[Item], vectors: Vectors, _directory: Path) -> Iterator[Nearest]:
    import faiss

    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)

    def nearest(vector: Vectors, count: int) -> list[Found]:
        scores, rows = index.search(vector[None], count)
        pairs = zip(rows[0].tolist(), scores[0].tolist(), strict=True)
        return [Found(items[row], score) for row, score in pairs if row >= 0]

    yield nearest


@contextmanager
def _lancedb(items: Sequence[Item], vectors: Vectors, directory: Path) -> Iterator[Nearest]:
    import lancedb

    rows = [
        {"key": item.key, "text": item.text, "metadata": json.dumps(item.metadata), "vector": vector}
        for item, vector in zip(items, vectors, strict=True)
    ]
    table = lancedb.connect(directory / "lancedb").create_table("items", rows)

    def nearest(vector: Vectors, count: int) -> list[Found]:
        query = table.search(vector).distance_type("cosine").limit(count)
        found = query.select(["key", "text", "metadata", "_distance"]).to_list()
        return [Found(_item(row), 1 - row["_distance"]) for row in found]

    yield nearest


@contextmanager
def _chroma(items: Sequence[Item], vectors: Vectors, directory: Path) -> Iterator[Nearest]:
    import chromadb

    # Telemetry is off, whatever the release.
    settings = chromadb.Settings(anonymized_telemetry=False)
    with chromadb.PersistentClient(directory / "chroma", settings) as client:
        space = {"hnsw": {"space": "cosine"}}
        # None: all vectors are given. Chroma's own encoder is downloaded at its first use.
        stored = client.create_collection("items", embedding_function=None, configuration=space)
        stored.add(
            ids=[item.key for item in items],
            embeddings=vectors,
            documents=[item.text for item in items],
            metadatas=[dict(item.metadata) or None for item in items],
        )

        def nearest(vector: Vectors, count: int) -> list[Found]:
            one = stored.query(query_embeddings=[vector], n_results=count)
            columns = [one[name][0] for name in ("ids", "documents", "metadatas", "distances")]
            return [
                Found(Item(key, text, metadata or {}), 1 - distance)
                for key, text, metadata, distance in zip(*columns, strict=True)
            ]

        yield nearest


@contextmanager
def _qdrant(items: Sequence[Item], vectors: Vectors, _directory: Path) -> Iterator[Nearest]:
    from qdrant_client import QdrantClient, models

    with closing(QdrantClient(":memory:")) as client:
        cosine = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
        client.create_collection("items", vectors_config=cosine)
        # Qdrant's ids are numbers or UUIDs.
        points = [
            models.PointStruct(
                id=str(uuid.uuid5(uuid.NAMESPACE_URL, item.key)),
                vector=vector.tolist(),
                payload={"key": item.key, "text": item.text, "metadata": dict(item.metadata)},
            )
            for item, vector in zip(items, vectors, strict=True)
        ]
        client.upsert("items", points)

        def nearest(vector: Vectors, count: int) -> list[Found]:
            points = client.query_points("items", vector, limit=count).points
            return [Found(Item(**point.payload), point.score) for point in points]

        yield nearest


@contextmanager
def _milvus(items: Sequence[Item], vectors: Vectors, directory: Path) -> Iterator[Nearest]:
    from pymilvus import MilvusClient

    with closing(MilvusClient(str(directory / "milvus.db"))) as client:
        client.create_collection(
            "items",
            vectors.shape[1],
            id_type="string",
            max_length=512,
            metric_type="COSINE",
            consistency_level="Strong",
        )
        rows = [
            {"id": item.key, "vector": vector, "text": item.text, "metadata": dict(item.metadata)}
            for item, vector in zip(items, vectors, strict=True)
        ]
        client.insert("items", rows)

        def nearest(vector: Vectors, count: int) -> list[Found]:
            (hits,) = client.search("items", [vector], limit=count, output_fields=["text", "metadata"])
            return [Found(Item(hit["id"], **hit["entity"]), hit["distance"]) for hit in hits]

        yield nearest


@contextmanager
def _pgvector(items: Sequence[Item], vectors: Vectors, _directory: Path) -> Iterator[Nearest]:
    """PostgreSQL is found by the variables of `postgres_server`."""
    import psycopg
    from pgvector.psycopg import register_vector

    with psycopg.connect(autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        register_vector(connection)
        columns = f"key text PRIMARY KEY, text text, metadata jsonb, vector vector({vectors.shape[1]})"
        connection.execute(f"CREATE TEMPORARY TABLE items ({columns})")
        rows = [
            (item.key, item.text, json.dumps(item.metadata), vector)
            for item, vector in zip(items, vectors, strict=True)
        ]
        connection.cursor().executemany("INSERT INTO items VALUES (%s, %s, %s, %s)", rows)
        connection.execute("CREATE INDEX ON items USING hnsw (vector vector_cosine_ops)")
        # Small tables are else scanned. The index returns at most so many rows, by default 40.
        connection.execute("SET enable_seqscan = off")
        connection.execute("SET hnsw.ef_search = 200")

        def nearest(vector: Vectors, count: int) -> list[Found]:
            query = "SELECT key, text, metadata, vector <=> %s AS distance FROM items ORDER BY distance LIMIT %s"
            found = connection.execute(query, (vector, count)).fetchall()
            return [Found(Item(*row[:3]), 1 - row[3]) for row in found]

        yield nearest


def _item(row: Mapping[str, Any]) -> Item:
    return Item(row["key"], row["text"], json.loads(row["metadata"]))


@dataclass(frozen=True, slots=True)
class Engine:
    """The modules that an engine needs, and what fills it below a directory, and closes it."""

    modules: tuple[str, ...]
    filled: Callable[[Sequence[Item], Vectors, Path], AbstractContextManager[Nearest]]

    @property
    def missing(self) -> str | None:
        """Return why the engine cannot be imported; None if it can."""
        missing = [module for module in self.modules if find_spec(module) is None]
        return f"needs {missing[0]}, of the extra engines" if missing else None


ENGINES = {
    "FAISS": Engine(("faiss",), _faiss),
    "LanceDB": Engine(("lancedb",), _lancedb),
    "Chroma": Engine(("chromadb",), _chroma),
    "Qdrant": Engine(("qdrant_client",), _qdrant),
    "Milvus Lite": Engine(("pymilvus", "milvus_lite"), _milvus),
    "pgvector": Engine(("pgvector", "psycopg"), _pgvector),
}
"""By name; also the titles of the sections on the manual's page `engines`."""
