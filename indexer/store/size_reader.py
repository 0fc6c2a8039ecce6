"""Read queries to the sizes of a collection, in SQL; see `state_reader`."""

from moverank.indexer.store.state_reader import StateReader
from moverank.rerank.bags.title_rank import TITLE
from moverank.rerank.words.unknown import UNKNOWN


class SizeReader(StateReader):
    """Counts documents, parts, words and vectors, and names the fields of documents."""

    def wordless_count(self) -> int:
        """Return the number of documents without any known word."""
        return self._number("SELECT count(*) FROM documents WHERE wordless")

    def part_count(self) -> int:
        """Return the number of parts of all documents, titles not counted."""
        return self._number(f"SELECT count(*) FROM parts WHERE rank != {TITLE}")  # noqa: S608

    def word_count(self, *, known: bool = False, unused: bool = False) -> int:
        """Return the number of words. `known`: only those with a vector; `unused`: also those of no document."""
        tests = [*([] if unused else ["frequency > 0"]), *([f"words.row != {UNKNOWN}"] if known else [])]
        where = f" WHERE {' AND '.join(tests)}" if tests else ""  # SQLite counts all rows by whole pages
        return self._number(f"SELECT count(*) FROM words{where}")  # noqa: S608

    def vector_count(self) -> int:
        """Return the number of documents with a vector."""
        return self._number("SELECT count(*) FROM vectors")

    def vector_dim(self) -> int:
        """Return the number of dimensions of the vectors; 0 if no document has one."""
        return self._number("SELECT length(vector) FROM vectors LIMIT 1") // 4

    def field_names(self) -> list[str]:
        """Return the names of all fields that documents can be filtered by, in order.

        Each name is looked up in the index after the last: SQLite would read every row to find the distinct ones.
        """
        return self._column(
            "WITH RECURSIVE names(name) AS (SELECT min(name) FROM fields UNION ALL "
            "SELECT (SELECT min(fields.name) FROM fields WHERE fields.name > names.name) FROM names "
            "WHERE names.name IS NOT NULL) SELECT name FROM names WHERE name IS NOT NULL"
        )
