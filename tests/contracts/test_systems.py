"""The core needs nothing of Unix alone: its sources say so, and so does a process that lacks what Windows lacks."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contracts import foreign_system
from tests.indexer.vectors.static_models import write_model

ROOT = Path(__file__).parents[2]
CORE = [
    ROOT / "cli.py",
    *(
        path
        for room in ("rerank", "indexer", "migrations")
        for path in sorted((ROOT / room).rglob("*.py"))
        if "plugins" not in path.relative_to(ROOT).parts
    ),
]
PORTABLE = {
    *(f"os.O_{name}" for name in ("RDONLY", "RDWR", "WRONLY")),
    *(f"os.{name}" for name in ("R_OK", "SEEK_SET", "W_OK", "X_OK", "_exit", "access", "close", "cpu_count")),
    *(f"os.{name}" for name in ("devnull", "dup2", "environ", "fspath", "fstat", "fsync", "getpid", "lseek", "lstat")),
    *(f"os.{name}" for name in ("makedirs", "name", "open", "path", "pathsep", "read", "scandir", "stat")),
    *(f"os.{name}" for name in ("supports_effective_ids", "urandom", "walk")),
    *(f"signal.{name}" for name in ("SIGINT", "SIGTERM", "SIG_DFL", "SIG_IGN", "Signals", "getsignal", "signal")),
}
"""What Windows has, too, by Python's documentation: a name that is in no list here fails, so that somebody looks."""

GUARDED = {
    ("indexer/files/systems.py", "fcntl"): "except ImportError",
    ("indexer/files/systems.py", "os.fchmod"): 'if hasattr(os, "fchmod")',
    ("indexer/files/systems.py", "os.geteuid"): 'if hasattr(os, "geteuid")',
    ("indexer/files/systems.py", "os.killpg"): 'if hasattr(os, "killpg")',
    ("indexer/files/systems.py", "os.readv"): 'if hasattr(os, "readv")',
    ("indexer/files/systems.py", "signal.SIGKILL"): 'if hasattr(os, "killpg")',
    ("indexer/values/scope.py", "/dev/"): "_STREAMS",
    ("indexer/values/scope.py", "/proc/"): "_STREAMS",
    ("rerank/distance/cell_limit.py", "os.register_at_fork"): 'if hasattr(os, "register_at_fork")',
    ("rerank/kernels/compiled.py", "os.geteuid"): 'if not hasattr(os, "geteuid")',
    ("rerank/runtime/thread_pool.py", "os.register_at_fork"): 'if hasattr(os, "register_at_fork")',
    ("rerank/runtime/thread_pool.py", "os.sched_getaffinity"): 'if hasattr(os, "sched_getaffinity")',
}
"""Where the core uses what Unix alone has, and the text there that guards it."""


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield the modules, and the names in modules, that a module uses, and beginnings of paths of devices."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (path for path in ("/dev/", "/proc/") if node.value.startswith(path))


def _is_of_unix(name: str) -> bool:
    return name in foreign_system.MODULES or (
        name.startswith(("/", "os.", "signal.")) and name not in PORTABLE and not name.startswith("os.path.")
    )


def test_names_of_unix_are_guarded() -> None:
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in CORE
        for name in _names(ast.parse(path.read_text(encoding="utf-8")))
        if _is_of_unix(name)
    }
    assert found == GUARDED.keys()
    for (name, used), guard in GUARDED.items():
        assert guard in (ROOT / name).read_text(encoding="utf-8"), used


def test_the_differences_are_in_one_module() -> None:
    names = {"os.name", "os.O_BINARY", "sys.platform"}
    users = {path.name for path in CORE if names & set(_names(ast.parse(path.read_text(encoding="utf-8"))))}
    assert users == {"systems.py"}


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """A directory with notes, threads, word vectors of several formats, and a converter."""
    models = pytest.importorskip("gensim.models", reason="has no wheel for this Python")
    place = tmp_path / "samples"
    (place / "notes").mkdir(parents=True)
    words = "cat dog bird fish train bus car plane".split()  # noqa: SIM905 - read as a line
    vectors = "".join(f"{word} {number % 3} {number % 5} {number}\n" for number, word in enumerate(words))
    (place / "words.txt").write_text(f"{len(words)} 3\n{vectors}", encoding="utf-8")
    for number in range(8):
        text = " ".join(words[(number * step + step) % len(words)] for step in (1, 2, 3))
        (place / "notes" / f"note{number}.txt").write_text(text, encoding="utf-8")
    thread = {"id": "t", "title": "cat", "text": "dog", "comments": [{"text": "bird"}, {"text": "fish train"}]}
    (place / "threads.jsonl").write_text(json.dumps(thread) + "\n", encoding="utf-8")
    (place / "no_threads.jsonl").write_text('{"id": "t"}\n', encoding="utf-8")
    converter = "import sys\nprint(open(sys.argv[1], 'rb').read().strip(b'\\0').decode())\n"
    (place / "text_of.py").write_text(converter, encoding="utf-8")
    write_model(place / "static", "model2vec")
    trained = models.FastText([words] * 3, vector_size=6, min_count=1, bucket=50, min_n=2, max_n=4, epochs=1, workers=1)
    models.fasttext.save_facebook_model(trained, str(place / "fasttext.bin"))
    return place


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads open files from /proc")
def test_the_core_works_where_open_files_stay_and_names_of_unix_are_missing(tmp_path: Path, samples: Path) -> None:
    (tmp_path / "work").mkdir()
    options = ["-X", "warn_default_encoding", "-m", "tests.contracts.foreign_system"]
    command = [sys.executable, *options, str(tmp_path / "work"), str(samples)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr[-3000:]
