"""Where a collection is: a directory, or a schema of a PostgreSQL database, which has a directory for derived files.

That directory is in a cache, and holds a file with the URL; otherwise it is like any other collection's.
"""

import os
import re
import sys
from hashlib import blake2b
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from moverank.indexer.arguments import place
from moverank.indexer.errors import CollectionError, UsageError
from moverank.indexer.files.atomic_write import atomic_file

CACHE = "MOVERANK_CACHE"
"""The variable that names the directory of all caches."""

URL_FILE = "database.url"
"""The file with the URL of the database, readable by its owner only: it may have a password."""

_FORM = "postgresql://USER@HOST/DATABASE?schema=SCHEMA"
_URL = re.compile(r"postgres(ql)?:/{1,2}(?=\S)")  # a Path has only one slash
_OTHER_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SCHEMA = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_PASSWORD = re.compile(r"(?<=[?&])\w*password=[^&\s]*&?")
_DIGEST = re.compile(r"-[0-9a-f]{16}$")


def collection_directory(name: str | Path) -> Path:
    """Return the directory of a collection, which `name` is, or which belongs to the database that it is the URL of.

    A URL is `postgresql://USER@HOST/DATABASE?schema=SCHEMA`. The directory of one is created. Raises UsageError for an
    invalid URL, CollectionError if the cache cannot be written.
    """
    text = place("the place of a collection", name)
    if not is_url(text):
        if _OTHER_URL.match(text):
            raise UsageError(f"{without_passwords(text)}: a collection is a directory, or {_FORM}")
        return Path(text)
    url = _URL.sub("postgresql://", text, count=1)
    schema, identity = _parsed(url)
    digest = blake2b(identity.encode(), digest_size=8).hexdigest()
    directory = cache_directory() / f"{schema}-{digest}"
    make_cache(directory, url)
    return directory


def make_cache(directory: Path, url: str) -> None:
    """Make the directory for derived files of the database `url`; CollectionError if it cannot be written."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if database_url(directory) != url:
            with atomic_file(directory / URL_FILE) as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(url.encode())
    except OSError as error:
        raise CollectionError(
            f"{directory}, the cache of {shown(directory, url)}, cannot be written: {error.strerror}: name another "
            f"directory with --cache or ${CACHE}"
        ) from error


def is_url(name: str) -> bool:
    """Return whether the name of a collection is the URL of a database."""
    return bool(_URL.match(name))


def is_cluster(index: str | Path) -> bool:
    """Return whether the name of a collection is that of a file which describes shards, such as `cluster.toml`."""
    return str(index).endswith(".toml") and not is_url(str(index))


def collection_name(directory: Path) -> str:
    """Return the short name of a collection: that of its directory, or of its schema."""
    name = directory.resolve().name
    return (_DIGEST.sub("", name) if database_url(directory) else name).removesuffix(".index").removesuffix(".toml")


def cache_directory() -> Path:
    """Return the directory of all caches: the one that is named, or the user's."""
    named = os.environ.get(CACHE)
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "moverank"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "moverank"


def database_url(directory: Path) -> str | None:
    """Return the URL of the database of a collection's `directory`; None if the database is a file there."""
    try:
        return (directory / URL_FILE).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def shown(directory: Path, url: str | None = None) -> str:
    """Return how messages name a collection: its directory, or the URL of its database without the password."""
    url = database_url(directory) if url is None else url
    return str(directory) if url is None else without_passwords(url)


def without_passwords(text: str) -> str:
    """Return a text with URLs, such as a command, without the passwords in these."""
    without = re.sub(r"(?<=//)([^/@:\s]*):[^/\s]*(?=@)", r"\1", text)
    return re.sub(r"(?<=//)\S*password=\S*", lambda url: _PASSWORD.sub("", url[0]).rstrip("?&"), without)


def _parsed(url: str) -> tuple[str, str]:
    """Return the schema that a URL names, `public` if it names none, and what distinguishes databases.

    Raises UsageError for an invalid URL.
    """
    try:
        parts = urlsplit(url)
        identity = f"{parts.hostname}:{parts.port}{unquote(parts.path)}?{parts.query}"
    except ValueError as error:  # the URL may have a password in any place
        raise UsageError(
            f"the URL of the database is invalid: it must be {_FORM}, where special characters of names and passwords "
            "are percent-encoded, as %40 for @, and a port is a number"
        ) from error
    named = parse_qs(parts.query, keep_blank_values=True).get("schema", ["public"])
    if len(named) != 1 or not _SCHEMA.fullmatch(named[0]) or parts.fragment:
        raise UsageError(
            f"{without_passwords(url)}: the schema must be one name of letters, digits and _, as in ?schema=forum"
        )
    return named[0], identity
