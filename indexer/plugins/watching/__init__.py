"""Watches: stored queries, and events of new and changed documents that are near them.

It adds the commands `watch`, the operations `watch`, `watches`, `unwatch`, `events` and `forget-events`, which read and
change the database of a collection in one place and are methods of `Collection`, and the follower `watches`, which
writes events in the transactions that add or change documents. It needs nothing beside the core, where the tables are.
Whoever is to hear of new texts about a matter uses it.
"""
