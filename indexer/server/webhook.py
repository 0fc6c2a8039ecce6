"""Delivery of the events of watches to a receiver: signed HTTP requests by the specification Standard Webhooks 1.0.

Each event is sent until the receiver has answered with success, and the next event of its collection only then. The
number of the last delivered event is stored in the collection, so that a killed server repeats some, but omits none.
"""

import base64
import binascii
import fcntl
import hmac
import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from email.message import Message
from functools import cache, partial
from hashlib import sha256
from http.client import HTTPException
from importlib.metadata import version
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from time import monotonic, time
from typing import TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

from moverank.indexer.documents import Event
from moverank.indexer.errors import IndexerError, UsageError
from moverank.indexer.server.metrics import DIRECTORY, Metrics
from moverank.indexer.server.secret_file import SecretFile
from moverank.indexer.server.served_collection import ServedCollection
from moverank.indexer.store import Reader, repeated

_PREFIX = "whsec_"
_SHORTEST, _LONGEST = 24, 64  # bytes of a secret

_SECONDS = 20.0  # until the receiver answers
_FIRST_PAUSE, _LAST_PAUSE = 1.0, 300.0  # seconds until the next attempt; each pause is twice the one before
_STORED = 1.0  # seconds after which the number of the last delivered event is stored, while more events follow
_PAGE = 100  # events that are read together
_RECHECK = 15.0  # seconds without a commit after which the database is read nevertheless
_ELECTION = 1.0  # seconds between two attempts to become the process that delivers
CLOSING = 2.0
"""Seconds for the running requests of all collections when the server ends."""

_Found = TypeVar("_Found")

_log = logging.getLogger("moverank")


class _NotDelivered(Exception):  # noqa: N818 - named after what happened
    """An event did not arrive; the next attempt should come after `pause` seconds or more."""

    def __init__(self, reason: str, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause


class _NoRedirects(HTTPRedirectHandler):
    """Follows no redirect: it is an answer without success."""

    def redirect_request(self, *_: object) -> None:
        """Return None."""


@cache
def _opener() -> OpenerDirector:
    """Return what sends requests: it checks certificates, and uses the proxy of the environment."""
    return build_opener(_NoRedirects)


@dataclass(frozen=True, slots=True)
class Receiver:
    """The receiver of the events of all collections of a server; each of the `secrets` signs each request."""

    url: str
    secrets: SecretFile

    @classmethod
    def of(cls, url: str, secrets: Path) -> "Receiver":
        """Return the receiver at a URL, with the secrets of a file; UsageError for an invalid URL or file."""
        _check_url(url)
        form = f"`{_PREFIX}` and the base64 of {_SHORTEST} to {_LONGEST} random bytes"
        return cls(url, SecretFile(secrets, "secret", form, _secret))

    @property
    def id(self) -> str:
        """Return a digest of the URL, which may itself have a secret."""
        return sha256(self.url.encode()).hexdigest()[:32]

    @property
    def shown(self) -> str:
        """Return scheme and host of the URL."""
        return f"{urlsplit(self.url).scheme}://{urlsplit(self.url).netloc}"

    def send(self, identity: str, body: bytes) -> None:
        """Send a JSON body, signed; raises _NotDelivered unless the receiver answers with success."""
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"moverank/{version('moverank')}",
            **signed_headers(self.secrets.current(), identity, int(time()), body),
        }
        request = Request(self.url, body, headers, method="POST")  # noqa: S310 - the scheme was checked
        try:
            with _opener().open(request, timeout=_SECONDS):
                return
        except HTTPError as error:
            with error:
                raise _NotDelivered(f"it answered {error.code}", _retry_after(error.headers)) from error
        except URLError as error:
            raise _NotDelivered(str(error.reason)) from error
        except (OSError, ValueError, HTTPException) as error:  # ValueError: a host that no name can be
            raise _NotDelivered(str(error) or type(error).__name__) from error


def signed_headers(secrets: tuple[bytes, ...], identity: str, seconds: int, body: bytes) -> dict[str, str]:
    """Return the headers of a request at a Unix time in `seconds`, with a signature by each secret.

    Source: Standard Webhooks 1.0, "Webhook headers".
    """
    content = f"{identity}.{seconds}.".encode() + body
    codes = (hmac.digest(secret, content, "sha256") for secret in secrets)
    signatures = " ".join(f"v1,{base64.b64encode(code).decode()}" for code in codes)
    return {"webhook-id": identity, "webhook-timestamp": str(seconds), "webhook-signature": signatures}


def _secret(text: str) -> bytes | None:
    """Return the secret of a line; None for an invalid one."""
    try:
        found = base64.b64decode(text.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return None
    return found if text.startswith(_PREFIX) and _SHORTEST <= len(found) <= _LONGEST else None


def _check_url(url: str) -> None:
    """Raise UsageError for what is not the URL of a receiver; the message does not repeat it."""
    if not (url.isascii() and url.isprintable() and " " not in url):
        raise UsageError("--webhook: a URL has neither spaces nor other characters than those of ASCII: encode them")
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise UsageError("--webhook: the URL of a receiver begins with https:// or http:// and a host")
    if "@" in parts.netloc:
        raise UsageError("--webhook: a URL with a name and a password is not supported: requests are signed instead")


def _retry_after(headers: Message) -> float:
    """Return the seconds that a receiver asks for, at most `_LAST_PAUSE`; 0 if it names none."""
    asked = headers.get("Retry-After", "")
    return min(float(asked), _LAST_PAUSE) if asked.isascii() and asked.isdecimal() else 0.0


class Webhook:
    """Delivers the events of one collection in their order, by a thread; of several processes, one delivers.

    `behind` is the number of events that the receiver has not got; 0 in the processes that do not deliver.
    """

    def __init__(self, served: ServedCollection, receiver: Receiver, metrics: Metrics) -> None:
        self._served, self._receiver, self._metrics = served, receiver, metrics
        self.behind = 0
        self._delivered = self._stored = -1  # until they are read
        self._store_from, self._said = 0.0, ""
        self._stopped, self._wake = Flag(), Flag()
        served.on_commit(self._wake.set)
        behind = partial(getattr, self, "behind")
        metrics.watch("webhook_behind", "Events that the receiver has not got.", behind, collection=served.name)
        self._thread = Thread(target=self._run, name=f"moverank-webhook-{served.name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Send no further event."""
        self._stopped.set()
        self._wake.set()

    def close(self, until: float) -> None:
        """Send no further event, and wait for the running request until a monotonic time."""
        self.stop()
        self._thread.join(max(0.0, until - monotonic()))

    def _run(self) -> None:
        with _elected(f"{self._receiver.id} {self._served.name}", self._stopped):
            while not self._stopped.is_set():
                try:
                    self._follow()
                except IndexerError as error:
                    self._say(f"the events cannot be read: {error}")
                except Exception:  # noqa: BLE001 - a defect: later events are delivered nevertheless
                    _log.exception("%s: the webhook failed", self._served.name)
                self._pause(_RECHECK)

    def _follow(self) -> None:
        """Deliver events until the server ends. Raises CollectionError."""
        if self._stored < 0:
            self._delivered = self._stored = self._read(lambda reader: reader.delivered(self._receiver.id))
        while not self._stopped.is_set():
            self._wake.clear()
            page = self._read(self._page)
            for identity, event in page:
                self._deliver(identity, event)
            if not page:
                self._said = ""
                self._store()
                self._wake.wait(_RECHECK)
        self._store()

    def _page(self, reader: Reader) -> list[tuple[str, Event]]:
        """Return the next events, each with an id that no event of another collection or history has."""
        self._count(reader)
        events = reader.events(self._delivered, _PAGE)
        tokens = {revision: reader.token(revision) for revision in {event.revision for event in events}}
        return [(f"{tokens[event.revision] or 'event'}-{event.number}", event) for event in events]

    def _deliver(self, identity: str, event: Event) -> None:
        """Send an event until it arrives, or the server ends."""
        fields = {"type": "watch", "collection": self._served.name, "data": event._asdict()}
        body, pause = json.dumps(fields).encode(), _FIRST_PAUSE
        while not self._stopped.is_set():
            try:
                self._receiver.send(identity, body)
            except _NotDelivered as failure:
                self._metrics.count_delivery(self._served.name, "failed")
                self._say(f"event {event.number} was not delivered to {self._receiver.shown}: {failure}")
                self._store()
                self._pause(max(pause, failure.pause))
                pause = min(2 * pause, _LAST_PAUSE)
            else:
                self._delivered, self.behind = event.number, max(0, self.behind - 1)
                self._metrics.count_delivery(self._served.name, "delivered")
                if monotonic() >= self._store_from:
                    self._store()
                return

    def _store(self) -> None:
        """Store the number of the last delivered event; a failure is made good by a later attempt."""
        number = self._delivered
        if number == self._stored:
            return
        try:
            self._served.record(lambda writer: writer.store_delivered(self._receiver.id, number))
        except IndexerError as error:  # another process writes: the attempt took seconds
            self._say(f"the number of the last delivered event is stored later: {error}")
            self._store_from = monotonic() + _RECHECK
        else:
            self._stored, self._store_from = number, monotonic() + _STORED

    def _read(self, work: Callable[[Reader], _Found]) -> _Found:
        return repeated(lambda: self._served.read(work))

    def _pause(self, seconds: float) -> None:
        """Wait; events that are committed meanwhile are counted."""
        until = monotonic() + seconds
        while not self._stopped.is_set() and self._wake.wait(max(0.0, until - monotonic())):
            self._wake.clear()
            with suppress(IndexerError):
                self._read(self._count)

    def _count(self, reader: Reader) -> None:
        """Count the events that the receiver has not got."""
        self.behind = reader.event_count(self._delivered)
        self._metrics.measure()

    def _say(self, sentence: str) -> None:
        """Log a warning, but not the same one twice in a row."""
        if sentence != self._said:
            self._said = sentence
            _log.warning("%s: %s", self._served.name, sentence)


@contextmanager
def _elected(name: str, stopped: Flag) -> Iterator[None]:
    """Wait until no other process of this server is in a block of the same name, or the server ends.

    The system releases the lock of a dead process. A server with one process has no directory that others share.
    """
    directory = os.environ.get(DIRECTORY)
    if directory is None:
        yield
        return
    with (Path(directory) / f"{sha256(name.encode()).hexdigest()}.lock").open("wb") as file:
        while not stopped.is_set():
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                stopped.wait(_ELECTION)
        yield
