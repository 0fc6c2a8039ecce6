"""Whether a collection is whole: `moverank check`, and what `--repair` does about it.

The database is compared with itself, the word vectors with their seals, the snapshot with the database.
"""

from moverank.indexer.maintenance.check import check
from moverank.indexer.maintenance.repair import repair

__all__ = ["check", "repair"]
