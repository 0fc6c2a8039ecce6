"""The tables of a collection's database, and migrations to the current schema.

Some constraints and indexes only SQLite can have; other databases get theirs by `Database.finish_tables`.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    insert,
    inspect,
    select,
    text,
)

from moverank.indexer.errors import CollectionError
from moverank.indexer.store.rows import SCHEMA as SCHEMA

_Long = BigInteger().with_variant(Integer(), "sqlite")
# By code points in each database, as in SQLite: prefixes of keys are found by comparing.
_Text = String(collation="C").with_variant(String(), "sqlite")

# Not mapped classes: no row is loaded as an object, and importing the ORM would cost a tenth of a second at each start.
METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)
"""All tables. Every constraint has a name, so that a later migration can drop it."""

SETTINGS = Table(
    "settings",
    METADATA,
    Column("name", _Text, primary_key=True),
    Column("value", JSON, nullable=False),
)
"""The settings of the collection: names and JSON values."""

SOURCES = Table(
    "sources",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("place", _Text, nullable=False),
    Column("name", _Text, nullable=False),
    Column("prefix", _Text, nullable=False),
    UniqueConstraint("place").ddl_if(dialect="sqlite"),
)
"""The sources of documents; for the columns see `documents.NamedSource`."""

DOCUMENTS = Table(
    "documents",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("key", _Text, nullable=False, unique=True),
    Column("title", _Text, nullable=False),
    Column("label", _Text),
    Column("metadata", JSON, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("wordless", Boolean, nullable=False),
    Column("revision", Integer, nullable=False, index=True),
    Column("source", Integer),  # no foreign key: SQLite would copy the table in a migration, and reuse ids after it
    Column("file", _Text),
    Index(None, "source", "file").ddl_if(dialect="sqlite"),
    sqlite_autoincrement=True,
)
"""Documents. Ids are never reused, so derived files may refer to them.

`digest` covers all content of the document but its key; `revision` is the last that changed it. `source` and `file`
are where it was read last, the file as a path within the source ("" if the source is a file); both are null if that is
unknown.
"""

PARTS = Table(
    "parts",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("document_id", Integer, ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("text", _Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("words", LargeBinary, nullable=False),
    Column("counts", LargeBinary, nullable=False),
    UniqueConstraint("document_id", "position"),
)
"""Parts of documents: `words` are ids of `words`, increasing, `counts` the number of occurrences of each; both int32.

A title whose words count is a row of position -1 and rank -1. If the first part begins with that title, the counts of
the part leave the title out.
"""

WORDS = Table(
    "words",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("word", _Text, nullable=False),
    Column("frequency", Integer, nullable=False),
    Column("row", Integer, nullable=False),
    UniqueConstraint("word").ddl_if(dialect="sqlite"),
    sqlite_autoincrement=True,
)
"""Words: the number of documents that have each, and its vector's row (negative: see `rerank.words.embedding`)."""

VECTORS = Table(
    "vectors",
    METADATA,
    Column("document_id", Integer, ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)
"""Vectors that were given with documents: float32, little-endian; all have the same number of bytes."""

FIELDS = Table(
    "fields",
    METADATA,
    Column("document_id", Integer, ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True),
    Column("name", _Text, primary_key=True),
    Column("value", _Text, primary_key=True),
    Index(None, "name", "value"),
)
"""Filter fields of documents: the label, and each scalar of the metadata, as text; see `documents.filter_value`."""

REVISIONS = Table(
    "revisions",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("token", _Text, nullable=False),
)
"""Committed changes: a `number`, and a random `token` that distinguishes it from the same number of another history."""

REMOVALS = Table(
    "removals",
    METADATA,
    Column("document_id", Integer, primary_key=True, autoincrement=False),
    Column("revision", Integer, nullable=False, index=True),
)
"""Removed documents that derived files may still contain."""


FILES = Table(
    "files",
    METADATA,
    Column("folder", _Text, primary_key=True),
    Column("name", _Text, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
)
"""Files of word vectors in numbered blocks, in a database that machines share; else the directory has the files."""

WATCHES = Table(
    "watches",
    METADATA,
    Column("name", _Text, primary_key=True),
    Column("query", JSON, nullable=False),
    Column("ranking", _Text, nullable=False),
    Column("within", Double, nullable=False),
    Column("conditions", JSON, nullable=False),
    Column("revision", Integer, nullable=False),
)
"""Watches; for the columns see `documents.Watch`; `conditions` are its filter."""

EVENTS = Table(
    "events",
    METADATA,
    Column("number", _Long, primary_key=True, autoincrement=False),
    Column("watch", _Text, nullable=False),
    Column("document", _Text, nullable=False),
    Column("distance", Double, nullable=False),
    Column("revision", Integer, nullable=False),
)
"""Events of watches; for the columns see `documents.Event`. Numbers are never reused: see `Writer.add_events`.

They have no foreign keys: they stay when their watch or document is removed.
"""

# The same table that Alembic creates.
_VERSION = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True, nullable=False))
_VERSION.primary_key.name = "alembic_version_pkc"

_UNPUBLISHED = frozenset(f"000{number}" for number in range(1, 8))  # schemas before 0.2.0


def schema_of(connection: Connection) -> str | None:
    """Return the schema revision of a database; None if it is new."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(select(text("version_num")).select_from(text("alembic_version"))).scalar()


def create_tables(connection: Connection) -> None:
    """Create all tables, without Alembic, whose import takes half a second."""
    METADATA.create_all(connection)
    _VERSION.create(connection, checkfirst=True)
    connection.execute(insert(_VERSION).values(version_num=SCHEMA))


def pending_migrations(connection: Connection, found: str) -> tuple[str, ...]:
    """Return the schemas that lead from the one that a database has to this version's, oldest first.

    Raises CollectionError for a schema that this version does not know.
    """
    if found == SCHEMA:
        return ()
    if found in _UNPUBLISHED:
        raise CollectionError(
            "the collection was made by a version before 0.2.0, the first that was published: index the texts again "
            "in a new place"
        )
    from alembic.script import ScriptDirectory

    known = [script.revision for script in ScriptDirectory.from_config(alembic_config(connection)).walk_revisions()]
    if found not in known:
        raise CollectionError(
            f"the collection has schema {found}, which this moverank does not know (its own is {SCHEMA}): it was "
            "written by a newer version; upgrade moverank to open it"
        )
    return tuple(reversed(known[: known.index(found)]))


def migrate(connection: Connection) -> None:
    """Migrate a database to this version's schema, in the connection's own transaction."""
    from alembic import command

    command.upgrade(alembic_config(connection), "head")


def orphans(connection: Connection) -> list[str]:
    """Return the names of tables with orphaned rows; none on engines other than SQLite, which enforce foreign keys."""
    if connection.dialect.name != "sqlite":
        return []
    return sorted({str(row[0]) for row in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(100)})


def alembic_config(connection: Connection) -> "Any":
    """Return Alembic's configuration for one open connection; the migrations are part of the package."""
    from alembic.config import Config

    config = Config()
    scripts = Path(str(import_module("moverank.migrations").__file__)).parent
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
