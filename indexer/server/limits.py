"""The limits of a server: what one request may ask for, and how many requests may run and wait."""

from dataclasses import dataclass

from moverank.rerank.runtime.threads import core_count


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may ask for at most, and what the server does at a time.

    `body` and `upload` are bytes, of an upload of documents and of any other request. `texts` is the number of
    candidates of a request, `characters` that of a text, `k` and `depth` those of a search, `batch` the queries of a
    request. `seconds` is the time limit of a request unless it names a shorter one. `threads` searches run at a time,
    `queue` more wait; `writes` changes of a collection wait.
    """

    body: int = 8 * 2**20
    upload: int = 2**30
    texts: int = 1000
    characters: int = 1_000_000
    k: int = 1000
    depth: int = 100_000
    batch: int = 100
    seconds: float = 30.0
    threads: int = max(2, core_count())
    queue: int = 64
    writes: int = 64
