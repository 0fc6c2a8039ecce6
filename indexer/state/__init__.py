"""One state of a collection: it is opened, followed and repaired here, for the library, the server and shards."""
