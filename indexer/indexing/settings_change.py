"""Changes the settings of a collection."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moverank.indexer.errors import SettingsError
from moverank.indexer.indexing.collection_vectors import stored_settings
from moverank.indexer.indexing.settings_check import TRAINED, check_choices
from moverank.indexer.indexing.stage_place import check_stage_place, required_extension
from moverank.indexer.indexing.stage_update import keep_stage, update_stage
from moverank.indexer.indexing.vectors_folder import vectors_folder
from moverank.indexer.progress import Progress, silent
from moverank.indexer.settings import DATABASE, Settings
from moverank.indexer.store import Store
from moverank.indexer.vectors.importing import same_source
from moverank.rerank.words.embedding import Embedding


def change_settings(
    store: Store,
    directory: Path,
    settings: Settings,
    embedding: Embedding | None,
    choices: Mapping[str, Any],
    progress: Progress = silent,
) -> Settings:
    """Store changed settings, and return them; the caller holds the writer's lock.

    `store`, `directory`, `settings` and `embedding` are the collection's; `choices` are new values by name. `progress`
    is called while vectors are written to a database. Raises SettingsError for a permanent setting that differs,
    UsageError for an invalid value.
    """
    chosen = dict(choices)
    source = chosen.pop("embedding", None)
    if source not in (None, settings.embedding):
        folder = vectors_folder(directory, stored_settings(store))
        if source in TRAINED or not same_source(folder, source):  # else it is named by another path
            raise SettingsError(
                f"the collection was made with another embedding ({settings.embedding}): leave that option out, or "
                f"replace its word vectors by `moverank refit --embedding {source}`"
            )
    changed = settings.changed(chosen)
    if changed != settings:
        check_choices(changed, embedding.dim if embedding else None)
        check_stage_place(changed, shared=store.shared)
        with store.writing() as writer:
            writer.set_settings(changed.stored())
            if changed.first_stage_in == DATABASE:
                required_extension(writer, changed)
            if store.shared:
                update_stage(writer, directory, changed, embedding, fit=True, progress=progress)
        keep_stage(store, directory, changed, embedding)  # drops what was replaced
    return changed
