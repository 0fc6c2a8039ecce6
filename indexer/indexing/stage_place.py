"""What a first stage in the database needs: a shared collection, pgvector, and vectors and an index that it knows."""

import re
from secrets import token_hex

from moverank.indexer.errors import CollectionError, UsageError
from moverank.indexer.settings import DATABASE, Settings
from moverank.indexer.snapshot.index_choice import AUTO
from moverank.indexer.store import Reader, StageTable
from moverank.indexer.store.stage_reader import Extension
from moverank.indexer.store.stage_table import PREFIX

_FACTORY = re.compile(r"(?:IDMap2?,)?(?:Flat|HNSW([0-9]*)(?:,Flat)?)")
_LINKS = 32  # of FAISS's HNSW without a number
_ITERATIVE = (0, 8)  # the first version of pgvector whose indexes are scanned until enough rows pass a filter
_WIDEST = {"vector": 2000, "halfvec": 4000}  # dimensions of an index
_LONGEST = 16_000  # dimensions of a vector


def check_stage_place(settings: Settings, *, shared: bool) -> None:
    """Raise UsageError for settings that choose the database for a first stage which cannot be there.

    `shared`: the collection is in PostgreSQL.
    """
    if settings.first_stage_in != DATABASE:
        return
    if not shared:
        raise UsageError(
            "--first-stage-in database needs a collection in PostgreSQL (-i 'postgresql://USER@HOST/DATABASE'): leave "
            "it out, a directory has its first stage in files"
        )
    if settings.joined_scorer() is not None:
        raise UsageError(
            f"--first-stage-in database compares vectors only: leave the scorer out of --first-stage "
            f"{settings.first_stage}"
        )
    index_links(settings.faiss)


def index_links(factory: str) -> int | None:
    """Return the links of pgvector's HNSW index for a FAISS factory string; None for the exact order."""
    found = _FACTORY.fullmatch(factory)
    if factory == AUTO:
        return None
    links = None if found is None or found[1] is None else int(found[1] or _LINKS)
    if found is None or (links is not None and not 2 <= links <= 100):
        raise UsageError(
            f"--first-stage-in database has no index {factory!r}: --faiss is Flat, the exact order, or HNSW with 2 to "
            "100 links, such as HNSW32"
        )
    return links


def required_extension(reader: Reader, settings: Settings) -> Extension:
    """Return pgvector in the database; CollectionError without it, or if it is too old."""
    found = reader.extension()
    if found is None:
        raise CollectionError(
            "--first-stage-in database needs the extension pgvector, which this database does not have: an "
            "administrator adds it with CREATE EXTENSION vector"
        )
    if index_links(settings.faiss) is not None and found.version < _ITERATIVE:
        raise CollectionError(
            f"--faiss {settings.faiss} needs pgvector 0.8, this database has {'.'.join(map(str, found.version))}: an "
            "administrator updates it with ALTER EXTENSION vector UPDATE"
        )
    return found


def new_table(settings: Settings, dim: int, extension: Extension, *, products: bool) -> StageTable:
    """Return a new table for vectors of `dim` numbers; UsageError if pgvector cannot hold or index them."""
    links = index_links(settings.faiss)
    if dim > (_LONGEST if links is None else _WIDEST["halfvec"]):
        what = f"holds vectors of {_LONGEST:,} numbers" if links is None else f"indexes {_WIDEST['halfvec']:,} numbers"
        mend = "a smaller encoder" if links is None else "--faiss Flat, or a smaller encoder"
        raise UsageError(f"pgvector {what} at most, those of {settings.first_stage} have {dim:,}: choose {mend}")
    kind = "vector" if links is None or dim <= _WIDEST["vector"] else "halfvec"
    return StageTable(f"{PREFIX}{token_hex(4)}", kind, dim, products, links, extension.schema)  # type: ignore[arg-type]
