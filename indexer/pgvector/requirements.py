"""Requirements of a first stage in the database: a shared collection, pgvector, vectors that it can hold and index."""

import re
from secrets import token_hex

from moverank.indexer.errors import CollectionError, UsageError
from moverank.indexer.pgvector.vector_table import PREFIX, DocumentVectorTable
from moverank.indexer.settings import DATABASE, Settings
from moverank.indexer.snapshot.faiss_index import AUTO
from moverank.indexer.store import Reader

_FACTORY = re.compile(r"(?:IDMap2?,)?(?:Flat|HNSW([0-9]*)(?:,Flat)?)")
_LINKS = 32  # FAISS's default for HNSW without a number
_ITERATIVE = (0, 8)  # the first version of pgvector whose indexes are scanned until enough rows pass a filter
_WIDEST = {"vector": 2000, "halfvec": 4000}  # dimensions of an index
_LONGEST = 16_000  # dimensions of a vector


def check_place(settings: Settings, *, shared: bool) -> None:
    """Raise UsageError for settings that choose the database for a first stage which cannot be there.

    `shared`: the collection is in PostgreSQL.
    """
    if settings.first_stage_in != DATABASE:
        return
    if not shared:
        raise UsageError(
            "first_stage_in=database needs a collection in PostgreSQL (-i 'postgresql://USER@HOST/DATABASE'): leave "
            "it out, a directory has its first stage in files"
        )
    if settings.joined_scorer() is not None:
        raise UsageError(
            f"first_stage_in=database compares vectors only: leave the scorer out of --first-stage "
            f"{settings.first_stage}"
        )
    _links(settings.faiss)


def _links(factory: str) -> int | None:
    """Return the links of pgvector's HNSW index for a FAISS factory string; None for the exact order."""
    found = _FACTORY.fullmatch(factory)
    if factory == AUTO:
        return None
    links = None if found is None or found[1] is None else int(found[1] or _LINKS)
    if found is None or (links is not None and not 2 <= links <= 100):
        raise UsageError(
            f"first_stage_in=database has no index {factory!r}: faiss is Flat, the exact order, or HNSW with 2 to "
            "100 links, such as HNSW32"
        )
    return links


def extension_schema(reader: Reader, settings: Settings) -> str:
    """Return the schema that pgvector is in; CollectionError if pgvector is missing or too old."""
    found = reader.rows.all(
        "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'vector'"
    )
    if not found:
        raise CollectionError(
            "first_stage_in=database needs the extension pgvector, which this database does not have: an "
            "administrator adds it with CREATE EXTENSION vector"
        )
    [(schema, named)] = found
    version = tuple(int(number) for number in named.split(".") if number.isdecimal())
    if _links(settings.faiss) is not None and version < _ITERATIVE:
        raise CollectionError(
            f"faiss={settings.faiss} needs pgvector 0.8, this database has {'.'.join(map(str, version))}: an "
            "administrator updates it with ALTER EXTENSION vector UPDATE"
        )
    return str(schema)


def new_table(settings: Settings, dim: int, extension: str, *, products: bool) -> DocumentVectorTable:
    """Return a new table for vectors of `dim` numbers; UsageError if pgvector cannot hold or index them.

    `extension` is the schema that pgvector is in.
    """
    links = _links(settings.faiss)
    if dim > (_LONGEST if links is None else _WIDEST["halfvec"]):
        what = f"holds vectors of {_LONGEST:,} numbers" if links is None else f"indexes {_WIDEST['halfvec']:,} numbers"
        mend = "a smaller encoder" if links is None else "faiss=Flat, or a smaller encoder"
        raise UsageError(f"pgvector {what} at most, those of {settings.first_stage} have {dim:,}: choose {mend}")
    whole = links is None or dim <= _WIDEST["vector"]
    return DocumentVectorTable(
        f"{PREFIX}{token_hex(4)}", "vector" if whole else "halfvec", dim, products, links, extension
    )
