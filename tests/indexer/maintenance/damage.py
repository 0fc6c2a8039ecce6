"""Documents of a collection to be damaged, faults in its database, and a check of its results."""

import sqlite3
from contextlib import closing
from pathlib import Path

from moverank import Collection
from moverank.indexer.files.location import database_url
from moverank.indexer.store import Store
from tests.indexer.world import Twin, check_exact, document, random_documents

DOCUMENTS = [
    document(one.key, one.parts[0].text, "ant zorp", title="T", label="x", metadata={"year": 3, "tags": ["a", 1.5]})
    for one in random_documents(30)
]
_TWINS = {weights: Twin.of(DOCUMENTS, weights) for weights in ("tf", "tfidf")}


def execute(directory: Path, statement: str) -> None:
    """Change rows of a closed collection's database; the `statement` is as SQLite takes it."""
    url = database_url(directory)
    if url is not None:
        for sqlite, postgres in (("x'", "'\\x"), ("wordless = 1", "wordless = true")):
            statement = statement.replace(sqlite, postgres)
        with closing(Store(url)) as store, store.writing() as writer:
            assert writer.rows.connection.exec_driver_sql(statement).rowcount
        return
    with closing(sqlite3.connect(directory / "collection.db")) as connection:
        assert connection.execute(statement).rowcount
        connection.commit()


def check_results(directory: Path) -> None:
    """Check that a collection gives the results of `DOCUMENTS`."""
    with Collection.open(directory) as opened:
        weights, gamma = opened.settings.weights, opened.settings.gamma
        expected = _TWINS[weights].distances("ant bee cat", gamma=gamma)
        check_exact(opened.search("ant bee cat", k=20), expected, 20)
        assert opened.search("ant", k=3, depth=5).hits
