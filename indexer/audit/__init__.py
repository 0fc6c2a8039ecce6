"""Whether a collection is whole: `moverank check`, and what `--repair` does about it.

The database is compared with itself, the word vectors with their seals, the snapshot with the database.
"""

from indexer.audit.checking import check
from indexer.audit.repairing import repair

__all__ = ["check", "repair"]
