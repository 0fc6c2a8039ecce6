"""One state of a collection and its documents: opened, followed and repaired for the library, the server and shards."""
