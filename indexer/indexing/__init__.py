"""Changes to a collection: creation, synchronisation with records, word counts, training of word vectors."""

from typing import TYPE_CHECKING

from moverank.lazy_names import lazy_names as _lazy_names

if TYPE_CHECKING:
    from moverank.indexer.indexing.automatic_training import fit_vectors as fit_vectors
    from moverank.indexer.indexing.automatic_training import may_train as may_train
    from moverank.indexer.indexing.coverage import LOW as LOW
    from moverank.indexer.indexing.coverage import measured_coverage as measured_coverage
    from moverank.indexer.indexing.creation import TRAINED as TRAINED
    from moverank.indexer.indexing.creation import create_collection as create_collection
    from moverank.indexer.indexing.creation import remove_if_empty as remove_if_empty
    from moverank.indexer.indexing.creation import with_words_of as with_words_of
    from moverank.indexer.indexing.first_texts import settings_of as settings_of
    from moverank.indexer.indexing.first_texts import spread_texts as spread_texts
    from moverank.indexer.indexing.first_texts import stored_language as stored_language
    from moverank.indexer.indexing.first_texts import with_language as with_language
    from moverank.indexer.indexing.first_texts import with_vocabulary as with_vocabulary
    from moverank.indexer.indexing.removal import DocumentsToRemove as DocumentsToRemove
    from moverank.indexer.indexing.removal import check_unchanged as check_unchanged
    from moverank.indexer.indexing.removal import count_removals as count_removals
    from moverank.indexer.indexing.removal import remove_documents as remove_documents
    from moverank.indexer.indexing.settings_change import change_settings as change_settings
    from moverank.indexer.indexing.stored_form import restored_document as restored_document
    from moverank.indexer.indexing.sync import Sync as Sync
    from moverank.indexer.indexing.sync import SyncCallbacks as SyncCallbacks
    from moverank.indexer.indexing.uncompared import Uncompared as Uncompared
    from moverank.indexer.indexing.uncompared import check_dedupe as check_dedupe
    from moverank.indexer.indexing.vectors_change import change_language as change_language
    from moverank.indexer.indexing.vectors_change import change_vectors as change_vectors
    from moverank.indexer.indexing.vectors_change import follow_language as follow_language
    from moverank.indexer.indexing.word_counts import WordCounter as WordCounter

if not TYPE_CHECKING:  # type checkers would accept any name, and do not compute `__all__`
    __all__, __getattr__, __dir__ = _lazy_names(globals())
