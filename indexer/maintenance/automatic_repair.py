"""What is done about derived files that are damaged or missing: they are made again from the database, and it is told.

Notes go to the logger "moverank": to standard error, unless the program that uses this library says otherwise.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from moverank.indexer.errors import CollectionError, DamagedFile
from moverank.indexer.files.directory import locked
from moverank.indexer.progress import silent
from moverank.indexer.search.view import View, newest_snapshot, open_view
from moverank.indexer.settings import Settings
from moverank.indexer.snapshot import compaction, snapshot_files
from moverank.indexer.store import Reader, Store
from moverank.rerank.words.embedding import Embedding

_log = logging.getLogger("moverank")


class SnapshotRepairer:
    """Opens views of a collection, and has its snapshot made again where that is damaged.

    Who may not write to the collection, or not now, does without: the database holds it all, and takes longer.
    """

    def __init__(self, store: Store, place: Path) -> None:
        self._store, self._place = store, place
        self._distrusted: frozenset[Path] = frozenset()
        self._given_up = False

    def open(self, reader: Reader, settings: Settings, embedding: Embedding) -> View | None:
        """Open what the reader sees; None where something was mended, which only a new reader sees."""
        damages: list[DamagedFile] = []
        view = open_view(reader, self._place, settings, embedding, damages.append, self._distrusted)
        in_tail = 0 if view.base else sum(len(part.segment.ids) for part in view.segments)
        if not damages and (in_tail <= compaction.SMALL_TAIL or self._given_up):
            return view
        self.mend(settings, embedding, damages)
        return None

    def mend(self, settings: Settings, embedding: Embedding, damages: Sequence[DamagedFile]) -> None:
        """Have the snapshot made again, or give it up; `damages` are what was met, nothing where it is missing."""
        try:
            with locked(self._place):
                rebuild(self._store, self._place, settings, embedding)
        except (CollectionError, OSError) as error:
            self._distrusted |= {damage.path.parent for damage in damages}
            self._given_up = True
            for damage in damages:
                _log.warning("%s: it is left alone, and the database read instead (%s)", damage, error)


def rebuild(store: Store, place: Path, settings: Settings, embedding: Embedding) -> None:
    """Make the snapshot again unless it is whole, for whoever holds the lock."""
    damages: list[DamagedFile] = []
    with store.reading() as reader:
        base = newest_snapshot(reader, place, settings, embedding, damages.append)
        try:
            if base:
                base.check()
        except DamagedFile as met:
            damages.append(met)
    for damage in damages:
        compaction.log_damage(damage)
        snapshot_files.remove(damage.path.parent)
    if not (base or damages):
        _log.warning("%s has no snapshot of what it holds now: it is made from the database", place)
    compaction.compact_if_due(store, place, settings, embedding, silent)
