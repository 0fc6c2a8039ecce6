"""The tokens of a server, read from a file whenever it changes; and the delays of clients that send wrong tokens."""

import asyncio
import base64
import binascii
import hmac
import ipaddress
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from moverank.indexer.errors import UsageError
from moverank.indexer.plugins.serving.problems import HttpProblem

_LEAST = 16  # characters of a token
_FORM = f"{_LEAST} characters or more"
_COMMENT = re.compile(r"(^|\s)#.*")

_FREE = 3  # wrong tokens of an address that are answered at once
_PAUSE = 1.0  # seconds until a further one is answered
_PAUSED, _ALL_PAUSED = 4, 100  # answers that are held back at a time: for an address, for all
_ADDRESSES = 1000  # addresses that are remembered
_FORGET = 600.0  # seconds after the last wrong token of an address

_log = logging.getLogger("moverank")


class Tokens:
    """The tokens in a file, one a line, with comments after `#`; UsageError if it has none, or an invalid one.

    The file is read again when it has changed. While it cannot be read, the tokens read before stay valid.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._fault, self._stamp = path, "", _stamp(path)
        self._tokens = self._read()

    def allow(self, authorization: str) -> bool:
        """Return whether an Authorization header has one of the tokens, as Bearer, or as the password of Basic."""
        given = _given(authorization)
        # All tokens are compared, so that the time does not reveal a similar one.
        return sum(hmac.compare_digest(given, token) for token in self._current()) > 0

    def _current(self) -> tuple[bytes, ...]:
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._read_again(stamp)
        return self._tokens

    def _read_again(self, stamp: tuple[int, ...]) -> None:
        try:
            self._tokens = self._read()
        except UsageError as error:
            if str(error) != self._fault:
                self._fault = str(error)
                _log.warning("%s; the tokens that were read before stay valid", error)
            return
        self._stamp, self._fault = stamp, ""
        _log.warning("%s was read again: valid tokens: %d", self._path, len(self._tokens))

    def _read(self) -> tuple[bytes, ...]:
        try:
            lines = self._path.read_text(encoding="utf-8-sig").splitlines()
        except OSError as error:
            raise UsageError(f"{self._path}: the tokens cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{self._path}: the tokens cannot be read: they are not UTF-8") from error
        texts = [(number, _COMMENT.sub("", line).strip()) for number, line in enumerate(lines, 1)]
        tokens = tuple(_token(text, f"{self._path}:{number}") for number, text in texts if text)
        if not tokens:
            raise UsageError(f"{self._path}: there is no token in it: write one on each line, of {_FORM}")
        return tokens


def _token(text: str, place: str) -> bytes:
    """Return the token of a line; UsageError, which names its `place`, for an invalid one."""
    if len(text) < _LEAST or not text.isprintable() or " " in text:
        raise UsageError(f"{place}: a token needs {_FORM}, without spaces")
    return text.encode()


def _stamp(path: Path) -> tuple[int, ...]:
    """Return values that differ between versions of a file; none for a missing file."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _given(authorization: str) -> bytes:
    """Return the token of an Authorization header, empty if there is none."""
    scheme, _, given = authorization.strip().partition(" ")
    if scheme.lower() == "bearer":
        return given.strip().encode("latin-1", "replace")
    try:
        found = base64.b64decode(given.strip(), validate=True) if scheme.lower() == "basic" else b""
    except (binascii.Error, ValueError):
        return b""
    return found.partition(b":")[2]


@dataclass(slots=True)
class _Wrong:
    """The wrong tokens of an address: their number, the number of answers held back, and the time of the last one."""

    count: int = 0
    paused: int = 0
    last: float = 0.0


class WrongTokens:
    """Logs wrong tokens by the address of the client, and holds their answers back; right tokens never wait.

    Of an IPv6 address only the first 64 bits count, which belong to one client. The number of remembered addresses is
    limited, and each is forgotten after some time.
    """

    def __init__(self) -> None:
        self._addresses: dict[str, _Wrong] = {}
        self._paused = 0

    async def pause(self, client: str) -> None:
        """Count a wrong token of a client, and wait; HttpProblem 429 if too many of its answers wait already."""
        wrong = self._counted(_network(client))
        if wrong.count <= _FREE:
            return
        if wrong.paused >= _PAUSED or self._paused >= _ALL_PAUSED:
            raise HttpProblem(429, "too many wrong tokens: send the right one, or wait", {"Retry-After": "1"})
        wrong.paused += 1
        self._paused += 1
        try:
            await asyncio.sleep(_PAUSE)
        finally:
            wrong.paused -= 1
            self._paused -= 1

    def _counted(self, network: str) -> _Wrong:
        now = monotonic()
        wrong = self._addresses.pop(network, None)
        if wrong is None or now - wrong.last > _FORGET:
            wrong = _Wrong()
        self._addresses[network] = wrong  # moves to the end, as the latest
        if len(self._addresses) > _ADDRESSES:
            del self._addresses[next(iter(self._addresses))]
        wrong.count, wrong.last = wrong.count + 1, now
        if wrong.count & (wrong.count - 1) == 0:  # 1, 2, 4, ...: a client cannot fill the log
            _log.warning("a wrong token from %s (%d so far)", network, wrong.count)
        return wrong


def _network(client: str) -> str:
    """Return the address of a client, of IPv6 its network."""
    try:
        address = ipaddress.ip_address(client.partition("%")[0])
    except ValueError:
        return "an unknown address"
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.ip_network((address, 64), strict=False)) if not address.is_loopback else str(address)
    return str(address)
