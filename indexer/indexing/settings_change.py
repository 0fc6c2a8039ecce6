"""Changes the settings of a collection."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moverank.indexer.errors import SettingsError
from moverank.indexer.indexing.collection_vectors import stored_settings, vectors_folder
from moverank.indexer.indexing.creation import TRAINED, check_choices
from moverank.indexer.store import Store
from moverank.indexer.values.settings import Settings
from moverank.indexer.vectors.importing import same_source
from moverank.rerank.words.embedding import Embedding


def change_settings(
    store: Store,
    directory: Path,
    settings: Settings,
    embedding: Embedding | None,
    choices: Mapping[str, Any],
) -> Settings:
    """Store changed settings, and return them; the caller holds the writer's lock.

    `store`, `directory`, `settings` and `embedding` are the collection's; `choices` are new values by name. Raises
    SettingsError for a permanent setting that differs, UsageError for an invalid value.
    """
    chosen = dict(choices)
    source = chosen.pop("embedding", None)
    if source not in (None, settings.embedding):
        folder = vectors_folder(directory, stored_settings(store))
        if source in TRAINED or not same_source(folder, source):  # else it is the same source by another path
            raise SettingsError(
                f"the collection was made with another embedding ({settings.embedding}): leave that option out, or "
                f"replace its word vectors by `moverank refit --embedding {source}`"
            )
    changed = settings.changed(chosen)
    if changed != settings:
        check_choices(changed, embedding)
        with store.writing() as writer:
            writer.set_settings(changed.stored())
    return changed
