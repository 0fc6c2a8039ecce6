"""The files of a snapshot, and which snapshot is the newest valid one.

A snapshot is a directory `snapshot-REVISION` (or `snapshot-REVISION-NUMBER`: see `path_of_new`) with derived data of
the collection at one revision: arrays of counts (of the words with a vector, and as `term_...` of all words), bags,
word vectors, the first stage and its encoder, or the given vectors in its place. Every file has a checksum in
`meta.json`, which contains its own. A snapshot can be rebuilt from the store.
"""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from moverank.indexer.errors import DamagedFile
from moverank.indexer.files.checksums import check_names, read_checksummed_json
from moverank.indexer.files.systems import OPEN_FILES_STAY

if TYPE_CHECKING:
    from moverank.indexer.store import Reader
    from moverank.indexer.values.settings import Settings

FORMAT = 5
PREFIX, REMOVED, META = "snapshot-", "removed-snapshot-", "meta.json"
GONE = "gone"
"""A file in a snapshot that is removed, while other processes keep its folder in place: see `OPEN_FILES_STAY`."""

FIRST_STAGE, ENCODER = "first_stage.faiss", "encoder"
VECTOR_IDS, DOCUMENT_VECTORS = "stage_ids", "stage_vectors"
VECTOR_FILES = {VECTOR_IDS: "<i8", DOCUMENT_VECTORS: "<f4"}
"""The ids of the documents in the first stage, and their vectors; kept only if the vectors were given."""

SAMPLE = "sample"
"""A sample of the documents; see `content_sample`."""

COUNTS = {"ids": "<i8", "starts": "<i8", "words": "<i4", "counts": "<i4", "ranks": "<i4"}
ARRAYS = (
    COUNTS
    | {f"term_{name}": kind for name, kind in COUNTS.items()}
    | {"bag_starts": "<i8", "bag_words": "<i4", "weights": "<f8"}
)
VOCABULARY = {"word_ids": "<i8", "all_word_ids": "<i8", "vectors": "<f4"}

OMITTED_IF_UNRANKED = ("ranks", "term_ranks", "bag_starts", "bag_words")
"""Arrays omitted if every part has rank 0 and no title counts: bags then have the rows and words of the counts."""
SAME_AS = {"bag_starts": "starts", "bag_words": "words"}

_Opened = TypeVar("_Opened")


def ignore_damage(_: DamagedFile) -> None:
    """Do nothing about a damaged snapshot."""


def derived_from(settings: "Settings", fingerprint: str) -> dict[str, Any]:
    """Return the settings and the fingerprint of the word vectors that a snapshot depends on."""
    return settings.derived_key() | {"embedding": fingerprint}


def valid_for(reader: "Reader") -> Callable[[int, str], bool]:
    """Return a test that a revision and its token belong to the state of `reader`, and later removals are recorded."""
    forgotten = reader.forgotten()
    return lambda revision, token: revision >= forgotten and reader.token(revision) == token


def newest_of(
    directory: Path,
    wanted: dict[str, Any],
    valid: Callable[[int, str], bool],
    opened: Callable[[Path, dict[str, Any]], _Opened],
    damaged: Callable[[DamagedFile], None] = ignore_damage,
    distrusted: AbstractSet[Path] = frozenset(),
) -> _Opened | None:
    """Open the newest snapshot in `directory` that was made for `wanted` (see `derived_from`); None if there is none.

    `valid` returns whether a revision and its token belong to the state that is opened, `opened` opens a path with the
    content of its `meta.json`. `damaged` is called for each damaged snapshot; the paths `distrusted` are skipped.
    """
    for path in sorted(directory.glob(f"{PREFIX}*"), key=_numbers_of, reverse=True):
        if path in distrusted or (path / GONE).exists():
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


def checked_factory(path: Path, meta: dict[str, Any]) -> str:
    """Return the factory string of a snapshot's index; DamagedFile if files are missing or have another size."""
    check_names(path, meta["files"], META)
    return str(meta["factory"])


def path_of_new(directory: Path, revision: int) -> Path:
    """Return where a new snapshot is put: in place of another of its `revision`, or beside that if it cannot move."""
    path, others = directory / f"{PREFIX}{revision}", count(2)
    while OPEN_FILES_STAY and path.exists():
        path = directory / f"{PREFIX}{revision}-{next(others)}"
    return path


def _numbers_of(path: Path) -> list[int]:
    """Return the revision in a snapshot's name, and which snapshot of the revision it is; -1 where there is none."""
    numbers = path.name.removeprefix(PREFIX).partition("-")[::2]
    return [int(number) if number.isdecimal() else -1 for number in numbers]
