"""What `meta.json` of a snapshot says, and which snapshot is the newest valid one."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, TypeVar

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.checksums import read_checksummed_json
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot.snapshot_layout import FORMAT, META, PREFIX
from moverank.indexer.store.state_reader import StateReader

_Opened = TypeVar("_Opened")


def ignored(_: DamagedFile) -> None:
    """Do nothing about a damaged snapshot."""


def derived_from(settings: Settings, fingerprint: str) -> dict[str, Any]:
    """Return the settings and the fingerprint of the word vectors that a snapshot depends on."""
    return settings.derived_key() | {"embedding": fingerprint}


def valid_for(reader: StateReader) -> Callable[[int, str], bool]:
    """Return whether a revision and its token belong to the state of `reader`, and no later removal is forgotten."""
    forgotten = reader.forgotten()
    return lambda revision, token: revision >= forgotten and reader.token(revision) == token


def newest_of(
    directory: Path,
    wanted: dict[str, Any],
    valid: Callable[[int, str], bool],
    opened: Callable[[Path, dict[str, Any]], _Opened],
    damaged: Callable[[DamagedFile], None] = ignored,
    distrusted: AbstractSet[Path] = frozenset(),
) -> _Opened | None:
    """Open the newest snapshot in `directory` that was made for `wanted` (see `derived_from`); None if there is none.

    `valid` returns whether a revision and its token belong to the state that is opened, `opened` opens a path with the
    content of its `meta.json`. `damaged` is called for each damaged snapshot; the paths `distrusted` are skipped.
    """
    for path in sorted(directory.glob(f"{PREFIX}*"), key=_revision_of, reverse=True):
        if path in distrusted:
            continue
        try:
            meta = read_checksummed_json(path / META)
            usable = meta["format"] == FORMAT and meta["made_for"] == wanted
            if usable and valid(meta["revision"], meta["token"]):
                return opened(path, meta)
        except DamagedFile as damage:
            damaged(damage)
        except (KeyError, TypeError, ValueError):
            damaged(DamagedFile(path / META, "is not what this version writes"))
        except OSError as error:
            if path.is_dir():  # else a writer has just removed it
                damaged(DamagedFile(path / META, f"cannot be read: {error.strerror}"))
    return None


def _revision_of(path: Path) -> int:
    """Return the number in a snapshot's name; -1 if there is none."""
    number = path.name.removeprefix(PREFIX)
    return int(number) if number.isdecimal() else -1
