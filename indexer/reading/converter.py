"""Files converted to text by a command of the user, such as `pdftotext {} -`."""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import IO

from pathspec import GitIgnoreSpec

from moverank.indexer.errors import UsageError
from moverank.indexer.files.systems import stop_session
from moverank.indexer.reading.finding.selection import globs_of
from moverank.indexer.reading.records import BadRecord
from moverank.indexer.reading.spill import unwritable
from moverank.indexer.values.search_options import CONVERSION_SECONDS

OUTPUT_LIMIT = 1 << 30
"""The maximum size in bytes of the output for one file."""

_STEP = 0.05
_PLACE = "{}"


@dataclass(frozen=True, slots=True)
class Conversion:
    """The command `command`, whose argument `{}` (or else an additional last one) is the path of the file.

    It converts the files that match `globs` (patterns as in a `.gitignore`); without `globs`, all files that are no
    text. It may take `seconds` for each file.
    """

    command: str
    globs: tuple[str, ...] = ()
    seconds: float = CONVERSION_SECONDS


class Converter:
    """Runs the command of a `Conversion`; raises `UsageError` if it cannot be run."""

    def __init__(self, conversion: Conversion) -> None:
        self._arguments = _arguments(conversion.command)
        self._globs = globs_of("--pre-glob", conversion.globs, GitIgnoreSpec.from_lines)
        self._seconds = conversion.seconds

    def converts(self, path: str, *, is_text: bool) -> bool:
        """Return whether the file `path` is to be converted."""
        return self._globs.match_file(path.lstrip("/")) if self._globs is not None else not is_text

    @contextmanager
    def output(self, path: str) -> Iterator[IO[bytes]]:
        """Run the command for a file and open its output.

        Raises `BadRecord` if it fails, or takes too long, and `ReadError` if its output cannot be stored.
        """
        with ExitStack() as files:
            try:
                output, errors = (files.enter_context(tempfile.TemporaryFile()) for _ in range(2))
            except OSError as error:
                raise unwritable(error) from error
            self._run(path, output, errors)
            output.seek(0)
            yield output

    def _run(self, path: str, output: IO[bytes], errors: IO[bytes]) -> None:
        name = self._arguments[0]
        # `./` keeps a path that begins with a hyphen from being an option.
        path = f"./{path}" if path.startswith("-") else path
        arguments = [path if argument == _PLACE else argument for argument in self._arguments]
        try:
            # A session of its own: the processes that the command starts are stopped with it.
            process = subprocess.Popen(  # noqa: S603 - the user's own command, run without a shell
                arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True
            )
        except OSError as error:
            raise BadRecord(f"{name} cannot be run: {error.strerror or error}") from error
        try:
            code = self._wait(process, (output, errors))
        finally:
            stop_session(process)
        if code:
            errors.seek(0)
            lines = errors.read(1 << 16).decode("utf-8", "replace").splitlines()
            reason = next((line.strip()[:300] for line in lines if line.strip()), "it gave no reason")
            raise BadRecord(f"{name} failed with {_exit(code)}: {reason}")

    def _wait(self, process: "subprocess.Popen[bytes]", files: tuple[IO[bytes], ...]) -> int:
        end = monotonic() + self._seconds
        code = None
        while code is None:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(_STEP)
            if any(os.fstat(file.fileno()).st_size > OUTPUT_LIMIT for file in files):
                raise BadRecord(f"{self._arguments[0]} writes more than {OUTPUT_LIMIT:,} bytes: leave the file out")
            if code is None and monotonic() > end:
                raise BadRecord(
                    f"{self._arguments[0]} took more than {self._seconds:g} seconds and was stopped:"
                    " --pre-timeout allows more"
                )
        return code


def _exit(code: int) -> str:
    if code > 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"


def _arguments(command: str) -> list[str]:
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--pre {command!r}: a quotation mark is not closed") from error
    if not arguments:
        raise UsageError("--pre is empty: name a command, such as 'pdftotext {} -'")
    if any(_PLACE in argument and argument != _PLACE for argument in arguments):
        # Within `sh -c "..."` the shell would run the name of a file as code.
        raise UsageError(f'--pre {command!r}: {{}} must be an argument of its own; in a script it is "$1"')
    if shutil.which(arguments[0]) is None:
        raise UsageError(f"--pre: there is no command {arguments[0]!r}: install it, or name its path")
    return arguments if _PLACE in arguments else [*arguments, _PLACE]
