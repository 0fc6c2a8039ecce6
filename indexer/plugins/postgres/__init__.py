"""Collections in a schema of a PostgreSQL database, which several machines share (extra `postgres`).

It adds the places `postgresql://USER@HOST/DATABASE?schema=SCHEMA`, for all that a collection does in a directory. Each
machine has derived files in a cache of its own, and one process at a time writes. Those who search one collection from
several machines use it, and those whose texts are to be where their other data are backed up.
"""
