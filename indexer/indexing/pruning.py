"""Which documents a run may remove: unseen documents of its sources, unless a rejected record may be one of them."""

from collections import Counter
from collections.abc import Collection as Container
from collections.abc import Iterator
from dataclasses import dataclass, field

from moverank.indexer.indexing.ownership import Ownership
from moverank.indexer.store import Reader
from moverank.indexer.values.documents import Document, Rejection
from moverank.indexer.values.scope import upwards


class Protection:
    """What the rejected records of a run protect: their keys, or without a key all documents of their file.

    A record may be any document of its file if its key is unknown, and any document at all if its file is unknown.
    """

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self._files: set[str] = set()
        self._everything = False
        self._threads: set[str] = set()
        self._places: set[str] = set()

    def add(self, rejection: Rejection) -> None:
        """Protect the documents that a rejected record may be, and the threads that may lack it."""
        if rejection.part and rejection.key is not None:
            self._threads.add(rejection.key)
        elif rejection.part and rejection.origin is not None:
            self._places.add(rejection.origin.source.path_of(rejection.origin.file))
        if rejection.key is not None:
            self.keys.add(rejection.key)
        elif rejection.origin is not None:
            self._files.add(rejection.origin.source.path_of(rejection.origin.file))
        else:
            self._everything = True

    def may_lack_posts(self, document: Document) -> bool:
        """Return whether a rejected record of the file of a document may be a post of it."""
        origin = document.origin
        return document.key in self._threads or (
            origin is not None and bool(self._places) and origin.source.path_of(origin.file) in self._places
        )

    def covers(self, path: str) -> bool:
        """Return whether the documents of a file are protected: by a record of it, or of a folder above it."""
        return self._everything or not self._files.isdisjoint(upwards(path))


@dataclass
class Unseen:
    """The stored documents of a run's sources that the run has not seen."""

    removable: dict[int, str] = field(default_factory=dict)
    """The keys of the documents that may be removed, by id."""
    kept: Counter[str] = field(default_factory=Counter)
    """The numbers of documents protected by a record without a key, by file."""
    protected: int = 0
    """The number of documents whose key a rejected record has."""
    unknown: int = 0
    """The number of documents whose source is unknown: the run may not remove them."""

    def notes(self) -> Iterator[str]:
        """Describe the documents that are kept because a source or a key is unknown, and the remedy."""
        if self.kept:
            first, others = next(iter(self.kept)), len(self.kept) - 1
            more = "1 other file" if others == 1 else f"{others:,} other files"
            kept = f"{_documents(self.kept.total())} of {first}{f' and {more}' if others else ''}"
            verb, them = ("is", "it") if self.kept.total() == 1 else ("are", "them")
            yield f"{kept} {verb} kept: what was rejected may hold {them}; mend that, and prune again"
        if self.unknown:
            verb = "is kept, which was" if self.unknown == 1 else "are kept, which were"
            yield (
                f"{_documents(self.unknown)} of an unknown source {verb} indexed before sources were stored: "
                "--replaces unknown prunes them, too"
            )


def _documents(count: int) -> str:
    return "1 document" if count == 1 else f"{count:,} documents"


def unseen_documents(reader: Reader, ownership: Ownership, seen: Container[int], protection: Protection) -> Unseen:
    """Compare the stored documents within the scope of a run with the ids that it has `seen`."""
    found, ids = Unseen(), list[int]()
    for stored in reader.sources():
        source = stored.source
        if source is None:
            missing = [id_ for id_, _ in reader.files_of_source(None) if id_ not in seen]
            if not ownership.scope.unknown:
                found.unknown = len(missing)
            elif protection.covers(""):
                found.kept["an unknown source"] = len(missing)
            else:
                ids += missing
            continue
        if not ownership.scope.touches(source.place):
            continue
        for id_, file in reader.files_of_source(stored.id):
            path = source.path_of(file)
            if id_ in seen or not ownership.scope.covers(path):
                continue
            if protection.covers(path):
                found.kept[source.name_of(file)] += 1
            else:
                ids.append(id_)
    shown = reader.shown(ids)
    found.removable = {id_: shown[id_].key for id_ in ids if shown[id_].key not in protection.keys}
    found.protected = len(ids) - len(found.removable)
    return found
