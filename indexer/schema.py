"""The tables of a collection, and how a database gets to have them."""

from importlib import import_module
from pathlib import Path
from typing import Any

from sqlalchemy import (
    JSON,
    Connection,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    inspect,
    select,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from indexer.errors import CollectionError

SCHEMA = "0001"
"""The revision of the schema that this version writes: the newest file of `migrations/versions`."""


class Base(DeclarativeBase):
    """The tables' common ground: every constraint gets a name, so that a later migration can drop it."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Setting(Base):
    """One choice made for the collection: a name and a JSON value."""

    __tablename__ = "settings"

    name: Mapped[str] = mapped_column(String, primary_key=True)
    value: Mapped[Any] = mapped_column(JSON)


class DocumentRow(Base):
    """A document. Ids are never used twice, so that derived files may keep them.

    `digest` is of everything the document holds; `revision` is the one that last changed it.
    """

    __tablename__ = "documents"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String, unique=True)
    title: Mapped[str] = mapped_column(String)
    label: Mapped[str | None] = mapped_column(String)
    fields: Mapped[Any] = mapped_column("metadata", JSON)
    digest: Mapped[bytes] = mapped_column(LargeBinary)
    wordless: Mapped[bool]
    revision: Mapped[int] = mapped_column(index=True)


class PartRow(Base):
    """A part of a document: `words` are ids of `words`, increasing, `counts` how often each occurs; both int32."""

    __tablename__ = "parts"
    __table_args__ = (UniqueConstraint("document_id", "position"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    document_id: Mapped[int] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"))
    position: Mapped[int]
    rank: Mapped[int]
    text: Mapped[str] = mapped_column(String)
    digest: Mapped[bytes] = mapped_column(LargeBinary)
    words: Mapped[bytes] = mapped_column(LargeBinary)
    counts: Mapped[bytes] = mapped_column(LargeBinary)


class WordRow(Base):
    """A word of any document: in how many of them, and the row of its vector (negative: see `rerank.embedding`)."""

    __tablename__ = "words"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(primary_key=True)
    word: Mapped[str] = mapped_column(String, unique=True)
    frequency: Mapped[int]
    row: Mapped[int]


class FieldRow(Base):
    """A value that documents can be filtered by: the label, and each scalar of the metadata, as text."""

    __tablename__ = "fields"
    __table_args__ = (Index(None, "name", "value"),)

    document_id: Mapped[int] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(String, primary_key=True)
    value: Mapped[str] = mapped_column(String, primary_key=True)


class Revision(Base):
    """A change that was committed: its `number`, and a random `token` that no other history has for it."""

    __tablename__ = "revisions"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    token: Mapped[str] = mapped_column(String)


class Removal(Base):
    """A document that is gone, for derived files that still hold it."""

    __tablename__ = "removals"

    document_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    revision: Mapped[int] = mapped_column(index=True)


def table(model: type[Base]) -> Table:
    """Return a model's table, for statements over many rows at once."""
    found = model.__table__
    if not isinstance(found, Table):
        raise TypeError(f"{model.__name__} is not mapped to a table")
    return found


def schema_of(connection: Connection) -> str | None:
    """Return the schema revision of a database, None where it has none of our tables."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(select(text("version_num")).select_from(text("alembic_version"))).scalar()


def is_current(connection: Connection) -> bool:
    """Say whether a database has this version's schema."""
    return schema_of(connection) == SCHEMA


def migrate(connection: Connection) -> None:
    """Bring a database to this version's schema, in the connection's own transaction; a new one gets all tables.

    Raises CollectionError for a schema that this version does not know.
    """
    found = schema_of(connection)
    if found == SCHEMA:
        return
    if found is not None and found > SCHEMA:
        raise CollectionError(
            f"the collection has schema {found}, this moverank knows schemas up to {SCHEMA}: "
            "it was written by a newer version; upgrade moverank to open it"
        )
    # Half a second: only for who has something to migrate.
    from alembic import command
    from alembic.util import CommandError

    try:
        command.upgrade(alembic_config(connection), "head")
    except CommandError as error:
        raise CollectionError(f"the collection has schema {found}, which this moverank does not know") from error


def orphans(connection: Connection) -> list[str]:
    """Return the names of tables with rows that refer to nothing; of other engines than SQLite, which tell, none."""
    if connection.dialect.name != "sqlite":
        return []
    return sorted({str(row[0]) for row in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(100)})


def enforce_keys(connection: Connection) -> None:
    """Let SQLite enforce foreign keys on a connection from now on; no transaction may be open."""
    driver: Any = connection.connection.driver_connection
    if connection.dialect.name == "sqlite":
        driver.execute("PRAGMA foreign_keys = ON").close()


def alembic_config(connection: Connection) -> "Any":
    """Return Alembic's configuration for one open connection: the scripts are part of the package."""
    from alembic.config import Config

    config = Config()
    scripts = Path(str(import_module("indexer.migrations").__file__)).parent
    config.set_main_option("script_location", str(scripts).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
