"""Where a collection is: a directory, or a database that machines share, which has a directory for derived files.

That directory is in a cache, and holds a file with the URL; otherwise it is like any other collection's.
"""

import os
import re
import shlex
from hashlib import blake2b
from pathlib import Path

from moverank.indexer.errors import CollectionError, UsageError
from moverank.indexer.files.atomic_write import atomic_file
from moverank.indexer.files.databases import database_kind, databases, normal_url, scheme_of
from moverank.indexer.files.systems import set_mode, user_caches, user_id
from moverank.indexer.values.arguments import place

CACHE = "MOVERANK_CACHE"
"""The variable that names the directory of all caches."""

URL_FILE = "database.url"
"""The file with the URL of the database, readable by its owner only: it may have a password."""

TRUSTED = "MOVERANK_TRUSTED"
"""The variable that lists directories whose files may name databases and clusters, which then get credentials."""

_LONGEST_URL = 4096

_OWN_CLUSTERS = ("", "auto")  # Ray addresses: a cluster of this command only, the user's cluster on this machine

_UNPROVEN: dict[Path, str] = {}
"""By cache, a URL given to this process whose password differs from the stored one, and may be the right one."""

_OTHER_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PASSWORD = re.compile(r"(?<=[?&])\w*password=[^&\s]*&?")
_DIGEST = re.compile(r"-[0-9a-f]{16}$")


def collection_directory(name: str | Path) -> Path:
    """Return the directory of a collection: `name` itself, or the cache directory of the database whose URL `name` is.

    The directory of a URL is created. Raises UsageError for an invalid URL, PlugInError for one of a missing plug-in,
    CollectionError if the cache cannot be written.
    """
    text = place("the place of a collection", name)
    if not is_url(text):
        if _OTHER_URL.match(text):
            forms = ", or ".join(["a directory", *(databases().of(name).FORM for name in databases().names())])
            raise UsageError(f"{without_passwords(text)}: a collection is {forms}")
        return Path(text)
    url = normal_url(text)
    directory = _cache_of(url)
    stored = _stored_url(directory)
    if stored is None:
        make_cache(directory, url)
    elif stored != url:
        _UNPROVEN[directory] = url
    else:
        _UNPROVEN.pop(directory, None)
    return directory


def store_accepted_url(directory: Path) -> None:
    """Store the URL of a collection's database for other processes: the database has accepted its password."""
    if url := _UNPROVEN.pop(directory, None):
        make_cache(directory, url)


def make_cache(directory: Path, url: str) -> None:
    """Make the directory for derived files of the database `url`; CollectionError if it cannot be written."""
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        with atomic_file(directory / URL_FILE) as file:
            set_mode(file.fileno(), 0o600)
            file.write(url.encode())
    except OSError as error:
        raise CollectionError(
            f"{directory}, the cache of {display_name(directory, url)}, cannot be written: {error.strerror}: name "
            f"another directory with --cache or ${CACHE}"
        ) from error


def is_url(name: str) -> bool:
    """Return whether the name of a collection is the URL of a database."""
    return bool(scheme_of(name))


def is_in_one_place(place: str | Path) -> bool:
    """Return whether a place is surely a directory, or in a database, and no other store's."""
    path = Path(place)
    return is_url(str(place)) or path.suffix in ("", ".index") or path.is_dir()


def is_cluster(index: str | Path) -> bool:
    """Return whether a collection is named by a file that describes shards, such as `cluster.toml`."""
    return str(index).endswith(".toml") and not is_url(str(index))


def collection_name(directory: Path) -> str:
    """Return the short name of a collection: the name of its directory or of its schema."""
    name = directory.resolve().name
    return (_DIGEST.sub("", name) if database_url(directory) else name).removesuffix(".index").removesuffix(".toml")


def cache_root() -> Path:
    """Return the directory of all caches: $MOVERANK_CACHE, or the user's directory for caches."""
    named = os.environ.get(CACHE)
    return Path(named) if named else user_caches() / "moverank"


def database_url(directory: Path) -> str | None:
    """Return the URL of the database of a collection's `directory`; None if the database is a file there."""
    return _UNPROVEN.get(directory) or _stored_url(directory)


def _stored_url(directory: Path) -> str | None:
    try:
        with (directory / URL_FILE).open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST_URL).strip()
    except OSError:
        return None


def trusted_url(directory: Path) -> str | None:
    """Return the URL of a collection's database, or None, as `database_url`; raises like `check_trusted`."""
    url = database_url(directory)
    if url is not None:
        check_trusted(url, directory)
    return url and normal_url(url)


def check_trusted(url: str, place: Path) -> None:
    """Raise CollectionError if only the file or directory at `place` names a database.

    A database's library may send the user's credentials, as from $PGPASSWORD, to any host. So the user must have
    named the URL before (its cache then exists), with or without the password, or trust the place: see `_is_trusted`.
    """
    if _is_trusted(place):
        return
    known = database_url(_cache_of(normal_url(url))) if is_url(url) else None
    if known is None or normal_url(url) not in (known, without_passwords(known)):
        raise CollectionError(
            f"{place} names a database, to which your credentials would be sent: if you trust it, name it once "
            f"yourself, `moverank info -i {_quoted(without_passwords(url))}`, or list the directory in ${TRUSTED}"
        )


def name_cluster(address: str) -> None:
    """Store that the user named a Ray cluster, for `check_cluster`; CollectionError if the cache cannot be written."""
    if address not in _OWN_CLUSTERS:
        make_cache(_cache_of_cluster(address), address)


def check_cluster(address: str, place: Path) -> None:
    """Raise CollectionError if only the file at `place` names a Ray cluster.

    The cluster would get the user's token, and could run any code here. So the user must have named it, by
    `name_cluster` or $RAY_ADDRESS, or trust the place: see `_is_trusted`.
    """
    known = address in _OWN_CLUSTERS or address == os.environ.get("RAY_ADDRESS")
    if not (known or _is_trusted(place) or _stored_url(_cache_of_cluster(address)) == address):
        raise CollectionError(
            f"{place} names a Ray cluster, to which your token would be sent: if you trust it, name it yourself, "
            f"`export RAY_ADDRESS={_quoted(address)}`, or list the directory in ${TRUSTED}"
        )


def _is_trusted(place: Path) -> bool:
    """Return whether a path is in the directory of caches, or in one of $TRUSTED."""
    trusted = [cache_root(), *map(Path, filter(None, os.environ.get(TRUSTED, "").split(os.pathsep)))]
    return any(place.resolve().is_relative_to(directory.resolve()) for directory in trusted)


def _quoted(name: str) -> str:
    return shlex.quote("".join(letter if letter.isprintable() else "?" for letter in name))


def display_name(directory: Path, url: str | None = None) -> str:
    """Return how messages name a collection: its directory, or the URL of its database without the password."""
    url = database_url(directory) if url is None else url
    return str(directory) if url is None else without_passwords(url)


def without_passwords(text: str) -> str:
    """Return a text, such as a command, without the passwords in its URLs."""
    without = re.sub(r"(?<=//)([^/@:\s]*):[^/\s]*(?=@)", r"\1", text)
    return re.sub(r"(?<=//)\S*password=\S*", lambda url: _PASSWORD.sub("", url[0]).rstrip("?&"), without)


def _cache_of_cluster(address: str) -> Path:
    return cache_root() / f"ray-{blake2b(repr((address, user_id())).encode(), digest_size=8).hexdigest()}"


def _cache_of(url: str) -> Path:
    """Return the cache directory for a URL; raises the errors of `collection_directory`."""
    name, identity = database_kind(url).identity(url)
    return cache_root() / f"{name}-{blake2b(identity.encode(), digest_size=8).hexdigest()}"
