"""Automatic repair of snapshots: damaged or missing files are rebuilt from the database, which is logged.

A damaged file is found when a state is opened or while it is searched, by the checksums of `files` and `snapshot`.

Repairs are logged by the logger "moverank": to standard error, unless the application configures logging otherwise.
"""

import logging
from collections.abc import Sequence
from pathlib import Path

from moverank.indexer.errors import CollectionError, ConnectionLost, DamagedFile, VectorsError
from moverank.indexer.indexing.collection_vectors import current_settings
from moverank.indexer.search.view import View
from moverank.indexer.snapshot import compaction
from moverank.indexer.snapshot.snapshot_files import newest_snapshot
from moverank.indexer.snapshot.snapshot_writer import remove_snapshot
from moverank.indexer.state.open_view import open_view
from moverank.indexer.store import Reader, Store, locked_directory
from moverank.indexer.values.search_options import silent
from moverank.indexer.values.settings import Settings
from moverank.rerank.words.embedding import Embedding

_log = logging.getLogger("moverank")


class SnapshotRepairer:
    """Opens views of a collection, and rebuilds its snapshot if that is damaged or missing.

    Without write permission, or while another process writes, the database is read instead: it is complete but slower.
    """

    def __init__(self, store: Store, directory: Path) -> None:
        self._store, self._directory = store, directory
        self._distrusted: frozenset[Path] = frozenset()
        self._without_snapshot = False

    def open(self, reader: Reader, settings: Settings, embedding: Embedding) -> View | None:
        """Open the state of `reader`; None after a repair, even a failed one: call again with a new reader.

        `settings` and `embedding` are the collection's.
        """
        damages: list[DamagedFile] = []
        view = open_view(reader, self._directory, settings, embedding, damages.append, self._distrusted)
        sizes = [len(part.segment.ids) for part in view.segments]
        base = sizes[0] if view.snapshot else 0
        # A writer on another machine compacts only its own files.
        in_tail = sum(sizes) - base if not base or self._store.shared else 0
        if not damages and (not compaction.needs_compaction(in_tail, base) or self._without_snapshot):
            return view
        self.repair(damages)
        return None

    def repair(self, damages: Sequence[DamagedFile]) -> None:
        """Rebuild the snapshot; if that fails, skip it from now on, and log why.

        `damages` are the damaged files, none if there is no snapshot.
        """
        try:
            with locked_directory(self._store, self._directory):
                _rebuild(self._store, self._directory)
        except ConnectionLost:
            raise
        except (CollectionError, VectorsError, OSError) as error:
            self._distrusted |= {damage.path.parent for damage in damages}
            self._without_snapshot = True
            for damage in damages:
                _log.warning("%s: it is ignored, and the database is read instead (%s)", damage, error)


def _rebuild(store: Store, directory: Path) -> None:
    """Write the snapshot again unless it is intact; the caller holds the writer's lock.

    The snapshot is of the current state, whose settings and word vectors may differ from the reader's.
    """
    settings, embedding = current_settings(store, directory)
    if embedding is None:
        return
    damages: list[DamagedFile] = []
    with store.reading() as reader:
        base = newest_snapshot(reader, directory, settings, embedding, damages.append)
        try:
            if base:
                base.check()
        except DamagedFile as damage:
            damages.append(damage)
    for damaged in damages:
        compaction.log_damage(damaged)
        remove_snapshot(damaged.path.parent)
    if not (base or damages):
        _log.warning("%s has no snapshot of its current state: it is rebuilt from the database", directory)
    compaction.compact_if_due(store, directory, settings, embedding, silent)
