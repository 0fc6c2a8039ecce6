"""Two machines on one: each has an address and a directory of its own, and a wire connects them.

They are namespaces of the kernel, which only root can make.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ADDRESSES = ("10.77.0.1", "10.77.0.2")
_IP = shutil.which("ip") or "ip"
_TOOLS = ("ip", "unshare", "nsenter", "mount")
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine with its `address`; `directory` has other files on each, and `holder` keeps it there."""

    name: str
    address: str
    directory: Path
    holder: "subprocess.Popen[bytes]"
    _started: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def command(self, *words: str | Path) -> list[str]:
        """Return a command that runs another one on this machine."""
        return ["nsenter", "--target", str(self.holder.pid), "--net", "--mount", "--", *map(str, words)]

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of its processes: a home of its own, and no choice of Ray's."""
        chosen = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{chosen['PATH']}"
        return chosen | {"HOME": str(self.directory), "PATH": path}

    def run(self, *words: str | Path, env: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        """Run a command here to its end."""
        environment = self.environment | dict(env or {})
        command = self.command(*words)
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=_SECONDS)

    def start(self, *words: str | Path, env: Mapping[str, str] | None = None) -> None:
        """Start a command here, which goes on until the machine `fails`."""
        environment = self.environment | dict(env or {})
        devnull = subprocess.DEVNULL
        self._started.append(subprocess.Popen(self.command(*words), env=environment, stdout=devnull, stderr=devnull))

    def fail(self) -> None:
        """Kill every process of this machine but the one that keeps its files."""
        while numbers := self._processes():
            for number in numbers:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            time.sleep(0.05)
        for process in self._started:
            process.wait()
        self._started.clear()

    def _processes(self) -> list[int]:
        found = subprocess.run([_IP, "netns", "pids", self.name], capture_output=True, text=True, check=False).stdout
        return sorted({int(number) for number in found.split()} - {self.holder.pid})


@contextmanager
def two_machines(directory: Path) -> Iterator[tuple[Machine, Machine]]:
    """Make two machines, which see `directory` empty; skip the test where that is not allowed."""
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"needs root and the command {missing[0]}" if missing else "needs root")
    names = tuple(f"moverank-{os.getpid()}-{number}" for number in (1, 2))
    machines: list[Machine] = []
    try:
        _wire(names)
        for name, address in zip(names, ADDRESSES, strict=True):
            machines.append(Machine(name, address, directory, _holder(name, directory)))
        yield machines[0], machines[1]
    finally:
        for machine in machines:
            machine.fail()
            machine.holder.kill()
            machine.holder.wait()
        for name in names:
            subprocess.run([_IP, "netns", "delete", name], check=False, capture_output=True)


def _wire(names: tuple[str, ...]) -> None:
    """Make two networks of a machine each, and connect them."""
    ends = ("moverank-1", "moverank-2")
    commands = [["netns", "add", name] for name in names]
    commands.append(["link", "add", ends[0], "type", "veth", "peer", "name", ends[1]])
    for name, end, address in zip(names, ends, ADDRESSES, strict=True):
        commands.append(["link", "set", end, "netns", name])
        commands.append(["-n", name, "address", "add", f"{address}/24", "dev", end])
        commands += [["-n", name, "link", "set", device, "up"] for device in ("lo", end)]
    for words in commands:
        done = subprocess.run([_IP, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"the kernel does not allow it: {done.stderr.strip()}")


def _holder(name: str, directory: Path) -> "subprocess.Popen[bytes]":
    """Start the process that keeps the files of a machine: `directory` is its own, and empty."""
    script = f"mount -t tmpfs none '{directory}' && touch '{directory}/ready' && exec sleep infinity"
    command = [_IP, "netns", "exec", name, "unshare", "--mount", "--propagation", "private", "sh", "-c", script]
    holder = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    ready = Path(f"/proc/{holder.pid}/root{directory}/ready")
    while not ready.exists():
        if holder.poll() is not None:
            pytest.skip("the kernel does not allow a machine files of its own")
        time.sleep(0.02)
    return holder
