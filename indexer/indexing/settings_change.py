"""Changes the settings of a collection."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from moverank.indexer.files.directory import VECTORS
from moverank.indexer.indexing.settings_check import TRAINED, check_choices
from moverank.indexer.settings import Settings
from moverank.indexer.store import Store
from moverank.indexer.vectors import same_source
from moverank.rerank.words.embedding import Embedding


def change_settings(
    store: Store, directory: Path, settings: Settings, embedding: Embedding | None, choices: Mapping[str, Any]
) -> Settings:
    """Store changed settings, and return them; the caller holds the writer's lock.

    `store`, `directory`, `settings` and `embedding` are the collection's; `choices` are new values by name. Raises
    SettingsError for a permanent setting that differs, UsageError for an invalid value.
    """
    chosen = dict(choices)
    source = chosen.pop("embedding", None)
    if source not in (None, settings.embedding):
        same = source not in TRAINED and same_source(directory / VECTORS, source)  # perhaps by another path
        chosen |= {} if same else {"embedding": source}
    changed = settings.changed(chosen)
    if changed != settings:
        check_choices(changed, embedding.dim if embedding else None)
        with store.writing() as writer:
            writer.set_settings(changed.stored())
    return changed
