"""The limits of a server: the size of requests and of their work, and the number of requests that run and wait.

Limits of a format are beside the code that reads it: of JSON in `requests`, of a request's head in `connections`, of
forms in `pages.typed_form`. Wrong tokens are slowed down in `tokens`.
"""

from dataclasses import dataclass

from moverank.indexer.operations.documents import PAGE
from moverank.rerank.runtime.thread_pool import core_count


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one request may demand, and the most work that the server does at a time."""

    body: int = 8 * 2**20
    """Bytes of a request other than an upload of documents."""
    upload: int = 2**30
    """Bytes of an upload of documents."""
    bodies: int = 128 * 2**20
    """Bytes of all bodies in memory."""
    uploaded: int = 2 * 2**30
    """Bytes of all uploads in files."""
    uploads: int = 8
    """Uploads that arrive at a time."""
    texts: int = 1000
    """Candidates of a request."""
    characters: int = 1_000_000
    """Characters of a text."""
    k: int = 1000
    """Hits of a search."""
    depth: int = 100_000
    """Candidates of a search's first stage."""
    limit: int = PAGE
    """Documents of a page."""
    batch: int = 100
    """Queries of a request."""
    seconds: float = 30.0
    """Time limit of a request that names no shorter one."""
    threads: int = max(2, core_count())
    """Searches that run at a time, besides long ones."""
    queue: int = 64
    """Searches that wait for a thread."""
    short: float = 0.5
    """Seconds after which a search is long."""
    long: int = 2 * max(2, core_count())
    """Long searches that run beside the others."""
    writes: int = 64
    """Changes of a collection that wait."""
    cells: int = 25_000_000
    """Cells of all cost matrices in memory; see `limit_cells`."""
    answer: int = 32_000_000
    """Characters of the texts and flows of an answer; see `SearchOptions.most_characters`."""
    conditions: int = 100
    """Conditions of a filter that must all hold."""
    values: int = 10_000
    """Values of all conditions of a filter."""
    rankings: tuple[str, ...] = ()
    """Rankings that requests may name although they must first be fitted to all documents; a collection's own is
    allowed, too."""
    connections: int = 1000
    """Open connections of a process."""
    idle: float = 30.0
    """Seconds until a connection without a request is closed; in each such time 64 KiB of an upload have to arrive."""
    upload_seconds: float = 1800.0
    """Seconds in which an upload has to arrive."""
    change_seconds: float = 1800.0
    """Seconds in which a change has to be made, with the changes that it waits for."""
    work_seconds: float = 300.0
    """Seconds of the work of one change."""
    records: int = 1_000_000
    """Records of an upload."""
    ratio: int = 100
    """How many times as long as its bytes a body of gzip may be, beyond the limit of other bodies."""
