"""One search in one shard: it runs in a thread, and stops wherever it needs to know about the other shards."""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread

import numpy as np
from numpy.typing import NDArray

from moverank.indexer.cluster.messages import Bounding, Explained, Failure, Found, Gathering, Message, Reply, failure_of
from moverank.indexer.errors import CollectionError
from moverank.indexer.store.database_errors import database_errors

_Floats = NDArray[np.float64]

_PATIENCE = 600.0  # seconds after which the process that asked must have died


class _Ended(Exception):  # noqa: N818 - named after what happened
    """The session was ended by the other side."""


class Session:
    """Runs `work` with this object as its `Peers`; `first` and `proceed` return its messages."""

    def __init__(self, work: "Callable[[Session], Found | Explained]") -> None:
        self._messages, self._replies = SimpleQueue[Message](), SimpleQueue[Reply | None]()
        self.stopped = False
        self._thread = Thread(target=self._run, args=(work,), name="moverank-shard-search", daemon=True)
        self._thread.start()

    def _run(self, work: "Callable[[Session], Found | Explained]") -> None:
        try:
            with database_errors():
                found = work(self)
            self._messages.put(found)
        except _Ended:
            self._messages.put(Failure(CollectionError("a shard waited too long for the others")))
        except Exception as error:  # noqa: BLE001 - the other side waits for an answer
            self._messages.put(failure_of(error))

    def first(self) -> Message:
        """Return the first message."""
        return self._messages.get()

    def proceed(self, reply: Reply) -> Message:
        """Continue with the reply to the last message, and return the next."""
        self._replies.put(reply)
        return self._messages.get()

    def end(self) -> None:
        """End the search: its result is not needed."""
        self.stopped = True
        self._replies.put(None)

    def over(self) -> bool:
        """Return whether the search is to end with what it has found so far."""
        return self.stopped

    def gathered(self, own: _Floats) -> _Floats:
        """See `Peers.gathered`."""
        return np.asarray(self._ask(Gathering(own)))

    def limits(self, upper: _Floats, lower: _Floats, /) -> tuple[float, float]:
        """See `Peers.limits`."""
        limit, promise = self._ask(Bounding(upper, lower))
        return float(limit), float(promise)

    def _ask(self, message: Message) -> Reply:
        self._messages.put(message)
        try:
            reply = self._replies.get(timeout=_PATIENCE)
        except Empty:
            reply = None
        if reply is None:
            raise _Ended
        return reply
