"""The process that reads large sources, and sends what it reads to the one that writes."""

import gc
import os
import pickle
import signal
import sys
from multiprocessing.connection import Connection
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Any

from moverank.indexer.documents import Document
from moverank.indexer.readers.origins import Origins
from moverank.rerank.runtime.exit_when import exit_when_ready

if TYPE_CHECKING:
    from moverank.indexer.readers.reading_process import Batch, Preparation, Read

_BATCH, _BATCH_CHARACTERS = 500, 1 << 20  # records and characters that are sent together
_AHEAD = 8  # batches that wait for the process that writes
_TURN = 0.0005  # seconds that the thread that decompresses waits for
_GARBAGE = 100_000  # objects between collections: the records are no cycles


def send_all(read: "Read", origins: Origins, preparation: "Preparation", sent: Connection, watched: Connection) -> None:
    """Send batches of prepared records, each with the last progress, then an error or None."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the parent decides
    exit_when_ready(watched)  # when the parent closes its end, or is killed
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    sys.setswitchinterval(_TURN)
    messages: Queue[object] = Queue(_AHEAD)
    sender = Thread(target=_send, args=(messages, sent), daemon=True)
    sender.start()
    states: list[tuple[Any, ...]] = []
    batch: Batch = []
    failure: BaseException | None = None
    characters = 0

    def send(some: "Batch") -> None:
        messages.put((preparation.prepared(some), states[-1] if states else None))

    try:
        try:
            for record in read(origins=origins, progress=lambda *state: states.__setitem__(slice(None), [state])):
                batch.append(record)
                characters += sum(len(part.text) for part in record.parts) if isinstance(record, Document) else 0
                if len(batch) == _BATCH or characters >= _BATCH_CHARACTERS:
                    full, batch, characters = batch, [], 0  # a batch that cannot be prepared is not tried again
                    send(full)
        finally:
            send(batch)  # also the records before an error
    except Exception as error:  # noqa: BLE001 - raised by the parent
        failure = error
    messages.put(failure)
    sender.join()
    os._exit(0)  # the parent waits for the end: finalising the interpreter would take a tenth of a second


def _send(messages: "Queue[object]", sent: Connection) -> None:
    """Send messages up to the first that is no batch."""
    while True:
        message = messages.get()
        try:
            data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # noqa: BLE001 - such as MemoryError: the parent would wait for ever
            message, data = error, pickle.dumps(error)
        try:
            sent.send_bytes(data)
        except OSError:  # the parent is gone, and this process ends at once
            return
        if not isinstance(message, tuple):
            return
