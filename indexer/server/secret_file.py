"""Secrets in a file, one on each line, read again whenever the file changes."""

import logging
import re
from collections.abc import Callable
from pathlib import Path

from moverank.indexer.errors import UsageError

_COMMENT = re.compile(r"(^|\s)#.*")

_log = logging.getLogger("moverank")


class SecretFile:
    """The secrets in a file, one a line, with comments after `#`; UsageError if it has none, or an invalid one.

    Messages call a secret a `kind`, which has a `form`; `parse` returns the secret of a line, None for an invalid line.
    The file is read again when it has changed. While it cannot be read, the secrets read before stay valid.
    """

    def __init__(self, path: Path, kind: str, form: str, parse: Callable[[str], bytes | None]) -> None:
        self._path, self._kind, self._form, self._parse = path, kind, form, parse
        self._fault, self._stamp = "", _stamp(path)
        self._secrets = self._read()

    def current(self) -> tuple[bytes, ...]:
        """Return the secrets that the file has now."""
        stamp = _stamp(self._path)
        if stamp != self._stamp:
            self._read_again(stamp)
        return self._secrets

    def _read_again(self, stamp: tuple[int, ...]) -> None:
        try:
            self._secrets = self._read()
        except UsageError as error:
            if str(error) != self._fault:
                self._fault = str(error)
                _log.warning("%s; the %ss that were read before stay valid", error, self._kind)
            return
        self._stamp, self._fault = stamp, ""
        _log.warning("%s was read again: valid %ss: %d", self._path, self._kind, len(self._secrets))

    def _read(self) -> tuple[bytes, ...]:
        cannot = f"{self._path}: the {self._kind}s cannot be read"
        try:
            lines = self._path.read_text(encoding="utf-8-sig").splitlines()
        except OSError as error:
            raise UsageError(f"{cannot}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{cannot}: they are not UTF-8") from error
        secrets = []
        for number, line in enumerate(lines, 1):
            if text := _COMMENT.sub("", line).strip():
                secret = self._parse(text)
                if secret is None:
                    raise UsageError(f"{self._path}:{number}: a {self._kind} needs {self._form}, without spaces")
                secrets.append(secret)
        if not secrets:
            raise UsageError(f"{self._path}: there is no {self._kind} in it: write one on each line, of {self._form}")
        return tuple(secrets)


def _stamp(path: Path) -> tuple[int, ...]:
    """Return values that differ between versions of a file; none for a missing file."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
