"""A process in which Linux lacks what Windows lacks: run as a module, it uses a collection there from begin to end.

Names of Unix alone are removed before moverank is imported, and `/proc` is hidden. Files behave as on Windows: a file
that this process has open or mapped, and a folder that holds one, can be neither renamed nor removed; no directory can
be opened; a descriptor for reading alone cannot be synced; names have no `:`, `?` or `<`. Which files are open is read
from `/proc` itself, so those of SQLite, FAISS and NumPy count, too.

What it cannot show: locks of Windows, its paths with drives, its consoles, and what other programs hold open.
"""

import builtins
import errno
import gc
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

MODULES = ("fcntl", "grp", "pwd", "resource", "termios")
_OS = """O_CLOEXEC O_DIRECTORY O_NOFOLLOW chown copy_file_range fchmod fchown fork getegid geteuid getgid getpgid getuid
killpg mkfifo posix_fadvise pread pwrite readv register_at_fork sched_getaffinity sendfile setsid statvfs sync sysconf
uname writev"""
_SIGNAL = "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGUSR1 SIGUSR2 pthread_kill"
NAMES = {os: _OS.split(), signal: _SIGNAL.split()}
"""What modules of the standard library lack on Windows."""

BINARY = 1 << 30
"""`os.O_BINARY`, without which a file that is opened by `os.open` would be damaged."""

_FORBIDDEN = frozenset(':?<>|"*')


def _text(path: Any) -> str:
    return os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""


def _refuse(code: int, path: Any) -> OSError:
    return OSError(code, os.strerror(code), path)


class ForeignFiles:
    """Replaces functions of `os` by those of a system that keeps open files in place, and hides `/proc`."""

    def __init__(self) -> None:
        self._io_open, self._readlink, self._listdir = io.open, os.readlink, os.listdir
        self.refused: list[str] = []

    def install(self) -> None:
        """Replace the functions."""
        self._replace_opening()
        self._replace_syncing()
        os.unlink = os.remove = self._kept(os.unlink)
        os.rename = self._renamed(os.rename, replaces=False)
        os.replace = self._renamed(os.replace, replaces=True)
        for name in ("mkdir", "stat", "listdir", "scandir", "readlink"):
            setattr(os, name, self._named(getattr(os, name)))
        for name in ("_use_fd_functions", "_USE_CP_SENDFILE"):  # as on Windows
            setattr(shutil, name, False)

    def _replace_opening(self) -> None:
        opened_by_os, temporary = os.open, os.O_TMPFILE

        def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            self._check_name(path)
            if flags & temporary != temporary and os.path.isdir(path):  # noqa: PTH112 - as the caller named it
                raise _refuse(errno.EACCES, path)
            caller = sys._getframe(1).f_globals.get("__name__", "")  # noqa: SLF001 - who forgets the flag
            if caller.startswith("moverank") and path != os.devnull:
                assert flags & BINARY, f"{caller} opens {path} without O_BINARY"
            return opened_by_os(path, flags & ~BINARY, mode, dir_fd=dir_fd)

        os.open, os.O_BINARY = opened, BINARY  # type: ignore[attr-defined]
        builtins.open = io.open = self._named(io.open)

    def _replace_syncing(self) -> None:
        from fcntl import F_GETFL, fcntl

        fsync, has_access = os.fsync, os.access

        def synced(fd: Any) -> None:
            if fcntl(fd, F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                raise OSError(errno.EBADF, os.strerror(errno.EBADF))
            fsync(fd)

        def access(path: Any, mode: int, *, effective_ids: bool = False, **options: Any) -> bool:
            if effective_ids:
                raise NotImplementedError("access: effective_ids unavailable on this platform")
            return has_access(path, mode, **options)

        os.fsync, os.access, os.supports_effective_ids = synced, access, set()

    def in_use(self, path: Any) -> str:
        """Return an open or mapped file that is at or below a path; "" if there is none."""
        place = os.path.realpath(path)
        found = [line.split(maxsplit=5)[5].strip() for line in self._maps() if line.count("/")]
        for descriptor in self._listdir("/proc/self/fd"):
            with suppress(OSError):
                found.append(self._readlink(f"/proc/self/fd/{descriptor}"))
        return next((name for name in found if name == place or name.startswith(f"{place}/")), "")

    def _maps(self) -> list[str]:
        with self._io_open("/proc/self/maps", encoding="utf-8") as file:
            return list(file)

    def _check_name(self, path: Any) -> None:
        text = _text(path)
        if text.startswith("/proc"):
            raise _refuse(errno.ENOENT, path)
        if _FORBIDDEN.intersection(text):
            raise _refuse(errno.EINVAL, path)

    def _named(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any = ".", *arguments: Any, **options: Any) -> Any:
            self._check_name(path)
            return function(path, *arguments, **options)

        return call

    def _kept(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, **options: Any) -> Any:
            self._require_unused(path)
            return function(path, **options)

        return call

    def _renamed(self, function: Callable[..., Any], *, replaces: bool) -> Callable[..., Any]:
        def call(source: Any, target: Any, **options: Any) -> Any:
            self._check_name(target)
            if os.path.lexists(target) and not replaces:
                raise _refuse(errno.EEXIST, target)
            if replaces and os.path.isdir(target):  # noqa: PTH112 - as the caller named it
                raise _refuse(errno.EACCES, target)
            for path in (source, target):
                self._require_unused(path)
            return function(source, target, **options)

        return call

    def _require_unused(self, path: Any) -> None:
        if used := self.in_use(path):
            self.refused.append(used)
            raise _refuse(errno.EACCES, path)


FILES = ForeignFiles()


def remove_names() -> None:
    """Remove what Windows lacks; `Popen.kill` has code of its own for each system."""
    killed = signal.SIGKILL
    process_class: Any = subprocess.Popen
    process_class.kill = lambda process: process.send_signal(killed)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment] # its import fails
    for module, names in NAMES.items():
        for name in names:
            if hasattr(module, name):
                delattr(module, name)


@contextmanager
def _printed() -> Any:
    before, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    try:
        yield sys.stdout
    finally:
        sys.stdout = before


def run(*arguments: str, code: int = 0) -> str:
    """Run the program with arguments, require its exit code, and return what it printed."""
    from moverank import cli

    gc.collect()  # each run is a process elsewhere, which leaves nothing open
    sys.argv = ["moverank", *arguments]
    with _printed() as output:
        try:
            cli.main()
        except SystemExit as exit_:
            ended = exit_.code or 0
    assert ended == code, (arguments, ended, FILES.refused)
    return str(output.buffer.getvalue().decode())


def main(place: Path, samples: Path) -> None:
    """Use a collection in the directory `place`, of the documents, threads and vectors in `samples`."""
    os.chdir(place)
    notes = place / "notes"
    shutil.copytree(samples / "notes", notes)
    vectors = str(samples / "words.txt")

    def search(text: str, *more: str) -> list[str]:
        found = json.loads(run("search", text, "-i", "notes.index", "--json", *more))
        assert found["certified"] or "--depth" in more
        return [hit["key"] for hit in found["hits"]]

    run("index", "notes", "-i", "notes.index", "--embedding", vectors)
    first = search("cat dog", "-k", "3")
    assert len(first) == 3, first
    explained = run("explain", "cat dog", first[0], "-i", "notes.index", "--json")
    assert json.loads(explained)["flows"]
    assert json.loads(run("similar", first[0], "-i", "notes.index", "--json", "-k", "2"))["hits"]
    run("threads", str(samples / "no_threads.jsonl"), "-i", "forum", "--embedding", vectors, code=1)
    run("threads", str(samples / "threads.jsonl"), "-i", "forum", "--embedding", vectors)  # in the same place
    assert json.loads(run("info", "-i", "forum", "--json"))

    # Another writer compacts while this reader keeps a snapshot open and mapped.
    from moverank import Collection, SearchOptions
    from moverank.indexer.snapshot import compaction
    from moverank.indexer.snapshot.snapshot_layout import GONE

    compaction.SMALL_TAIL = 2
    with Collection.open("notes.index") as reader:
        before = [hit.key for hit in reader.search("cat dog", SearchOptions(k=3)).hits]
        for number in range(5):
            (notes / f"new{number}.txt").write_text(f"cat dog bird {number}", encoding="utf-8")
        run("index", "notes", "-i", "notes.index")
        run("refit", "-i", "notes.index")  # the snapshot of this revision once more
        assert before == first
        assert len(search("cat dog", "-k", "9", "--exact")) == 9
        assert reader.search("cat dog", SearchOptions(k=9)).hits
    (notes / "new0.txt").unlink()
    run("index", "notes", "-i", "notes.index", "--prune", "--yes")
    assert not any("new0" in key for key in search("cat dog", "-k", "20"))
    (notes / "page.bin").write_bytes(b"\0dog bird")
    run("index", "notes", "-i", "notes.index", "--pre", f"{sys.executable} {samples / 'text_of.py'}")
    assert any("page" in key for key in search("dog bird", "-k", "20"))
    run("check", "-i", "notes.index")
    run("backup", "copy.index", "-i", "notes.index")
    assert json.loads(run("check", "-i", "copy.index", "--json"))["ok"]
    run("remove", first[0], "-i", "notes.index")

    # A damaged snapshot is replaced although the search that finds the damage keeps it open.
    (damaged,) = Path("copy.index").glob("snapshot-*/weights")
    damaged.write_bytes(bytes(damaged.stat().st_size))
    assert json.loads(run("search", "cat dog", "-i", "copy.index", "--exact", "--json"))["certified"]
    assert json.loads(run("check", "-i", "copy.index", "--json"))["ok"]
    (current,) = (path for path in Path("copy.index").glob("snapshot-*") if not (path / GONE).exists())
    (current / "ids").write_bytes(b"")
    run("check", "--repair", "-i", "copy.index")

    # Files of vectors are mapped while they are written.
    for made in ("static", "fasttext.bin"):
        run("refit", "-i", "copy.index", "--embedding", str(samples / made))
        assert json.loads(run("check", "-i", "copy.index", "--json"))["ok"]

    # What had to stay is removed by a later run.
    assert any("snapshot-" in name for name in FILES.refused)
    for index in ("notes.index", "copy.index"):
        run("refit", "-i", index)
        assert len(list(Path(index).glob("*snapshot-*"))) == 1


if __name__ == "__main__":
    import numpy  # noqa: F401 - it has code of its own for each system, and this one is Linux

    warnings.filterwarnings("error", category=EncodingWarning, module=r"moverank\.")  # Windows has other defaults
    FILES.install()
    remove_names()
    from moverank.indexer.files import systems

    systems.OPEN_FILES_STAY = True
    main(Path(sys.argv[1]), Path(sys.argv[2]))
