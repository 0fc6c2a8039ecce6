"""A collection in shards, each of which one process holds, on one machine or several."""
