"""Which shard a document belongs to: by a hash of its key and of the shard's name.

Highest random weight (Thaler & Ravishankar 1998): when a shard is added, only the documents that belong to it move, and
when one is removed, only its own.
"""

from collections.abc import Sequence

from moverank.indexer.files.checksums import short_checksum


def shard_of(key: str, names: Sequence[str]) -> str:
    """Return the name of the shard, among `names`, of the document `key`."""
    encoded = key.encode(errors="surrogatepass")
    return max(names, key=lambda name: (short_checksum(name.encode() + b"\0" + encoded), name))
