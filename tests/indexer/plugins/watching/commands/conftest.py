from tests.indexer.commands.conftest import call, vectors

__all__ = ["call", "vectors"]
