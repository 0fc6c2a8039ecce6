"""A collection in shards, each of which one process holds, on one machine or several (extra `ray`).

It adds the store `shards`, for files `*.toml` that describe shards, and the commands `shards`. A search answers as one
collection with all documents would. Those who have more documents than one machine holds use it.
"""
