"""Records that another process reads ahead are those that this one would have read."""

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from functools import partial
from multiprocessing import active_children
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from moverank import Document, Rejection
from moverank.indexer.errors import ReadError
from moverank.indexer.progress import Progress, silent
from moverank.indexer.readers import read_documents, reading_process
from moverank.indexer.readers.origins import Origins
from moverank.indexer.readers.reading_process import Read, SourceRecords, Unprepared, read_ahead

_COUNT = 30_000


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start the process at once, however small the sources are; none may be left."""
    monkeypatch.setattr(reading_process, "LARGE", 1)
    monkeypatch.setattr(reading_process, "_START", -1e9)
    monkeypatch.setattr(reading_process, "core_count", lambda: 2)
    yield
    assert active_children() == []


def _failing(*, origins: Origins, progress: Progress) -> SourceRecords:
    """Return records, an error at the end of which is that of a file."""

    def records() -> Iterator[Document | Rejection]:
        for number in range(_COUNT):
            progress("Reading", number, _COUNT, "B")
            yield Document(str(number), "title")
        raise ReadError("the file is gone")

    assert origins.scope
    return SourceRecords(records(), 1)


def _waiting(*, origins: Origins, progress: Progress) -> SourceRecords:
    """Return records without end."""
    del origins, progress
    return SourceRecords((Document(str(number), "title") for number in range(10**9)), 1)


class _FailsOnce(Unprepared):
    """Prepares no third batch, but those after it."""

    def __init__(self) -> None:
        self._batches = 0

    def prepared(self, batch: list[Document | Rejection]) -> list[Document | Rejection]:
        self._batches += 1
        if self._batches == 3:
            raise MemoryError("no room")
        return batch


class _Unsendable(_FailsOnce):
    """Prepares a third batch that cannot be pickled."""

    def prepared(self, batch: list[Document | Rejection]) -> list[Document | Rejection]:
        try:
            return super().prepared(batch)
        except MemoryError:
            return [Lock()]  # type: ignore[list-item]


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list that is filled once the process has passed this one."""
    found: list[bool] = []
    rest = reading_process._Reader.rest  # noqa: SLF001 - it is called then

    def noted(reader: Any, progress: Progress) -> Iterator[Document | Rejection]:
        found.append(True)
        return rest(reader, progress)

    monkeypatch.setattr(reading_process._Reader, "rest", noted)  # noqa: SLF001
    return found


def _take_until(records: Iterator[Document | Rejection], passed: list[bool], taken: list[Document | Rejection]) -> None:
    """Take records, so slowly that the process passes."""
    for record in records:
        taken.append(record)
        if passed:
            return
        if len(taken) % 500 == 0:
            time.sleep(0.3)
    pytest.fail("the process is too slow")


def _file(directory: Path) -> Path:
    path = directory / "docs.jsonl"
    lines = [f'{{"id": "{i}", "text": "text {i} é", "year": {i}}}' for i in range(_COUNT)]
    lines[3], lines[-7], lines[900] = "broken", "[]", lines[800]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_records_rejections_and_origins_are_the_same(tmp_path: Path, passed: list[bool]) -> None:
    path = str(_file(tmp_path))
    states: list[tuple[Any, ...]] = []
    found: list[Document | Rejection] = []
    origins = Origins([path], prefix="p", metadata={"site": "a"})
    records = read_ahead(partial(read_documents, [path]), origins, lambda *state: states.append(state))
    _take_until(records, passed, found)
    found += records
    expected = list(read_documents([path], origins=Origins([path], prefix="p", metadata={"site": "a"})))
    assert found == expected
    assert [record.origin for record in found] == [record.origin for record in expected]
    assert states[-1] == ("Reading", Path(path).stat().st_size, Path(path).stat().st_size, "B")


def test_an_error_is_raised_where_it_occurred(passed: list[bool]) -> None:
    taken: list[Document | Rejection] = []
    records = read_ahead(_failing, Origins(["-"]), silent)
    _take_until(records, passed, taken)
    with pytest.raises(ReadError, match="the file is gone"):
        taken.extend(records)
    assert [record.key for record in taken] == [str(number) for number in range(_COUNT)]


def test_a_process_that_is_started_at_once_reads_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(_file(tmp_path))
    records = read_ahead(partial(read_documents, [path]), Origins([path]), silent, at_once=True)
    monkeypatch.setattr(reading_process, "islice", None)  # reading here would fail
    found = list(records)
    expected = list(read_documents([path], origins=Origins([path])))
    assert found == expected
    assert [record.origin for record in found] == [record.origin for record in expected]


class _Slow(Unprepared):
    """Sends nothing for a while, in which the process that waits has two things to do."""

    def __init__(self) -> None:
        self.to_do, self.done, self.delay = ["one", "two"], list[str](), 0.3

    def prepared(self, batch: Any) -> Any:
        time.sleep(self.delay)
        self.delay = 0.0
        return batch

    def meanwhile(self) -> bool:
        if self.to_do:
            self.done.append(self.to_do.pop(0))
            return True
        return False


def test_what_will_be_needed_is_done_while_waiting() -> None:
    slow, origins = _Slow(), Origins([])
    with pytest.raises(ReadError, match="the file is gone"):
        deque(read_ahead(_failing, origins, silent, slow, at_once=True), maxlen=0)
    assert slow.done == ["one", "two"]


def test_a_process_that_ended_before_it_sent_is_not_needed() -> None:
    records = read_ahead(_failing, Origins(["-"]), silent, at_once=True)
    active_children()[0].kill()
    taken: list[Document | Rejection] = []
    with pytest.raises(ReadError, match="the file is gone"):
        taken.extend(records)
    assert len(taken) == _COUNT


def test_a_process_for_records_that_are_never_read_ends() -> None:
    records = read_ahead(_waiting, Origins(["-"]), silent, at_once=True)
    (process,) = active_children()
    del records
    process.join(10)
    assert process.exitcode is not None


def test_a_batch_that_cannot_be_prepared_ends_the_records_before_it() -> None:
    taken: list[Document | Rejection] = []
    with pytest.raises(MemoryError, match="no room"):
        taken.extend(read_ahead(_failing, Origins(["-"]), silent, _FailsOnce(), at_once=True))
    assert [record.key for record in taken] == [str(number) for number in range(1000)]


def test_a_batch_that_cannot_be_sent_is_an_error() -> None:
    taken: list[Document | Rejection] = []
    with pytest.raises(TypeError, match="cannot pickle"):
        taken.extend(read_ahead(_failing, Origins(["-"]), silent, _Unsendable(), at_once=True))
    assert [record.key for record in taken] == [str(number) for number in range(1000)]


@pytest.mark.parametrize("read", [_failing, _waiting])
def test_the_process_ends_when_no_more_is_read(read: Read) -> None:
    records = read_ahead(read, Origins(["-"]), silent)
    for _ in range(700):
        next(records)
    assert len(active_children()) == 1
    records.close()  # type: ignore[attr-defined]


def test_a_process_that_ended_too_soon_is_not_needed() -> None:
    records = read_ahead(_failing, Origins(["-"]), silent)
    taken = [next(records) for _ in range(700)]
    active_children()[0].kill()
    with pytest.raises(ReadError, match="the file is gone"):
        taken.extend(records)
    assert len(taken) == _COUNT


def test_a_process_that_was_killed_is_reported(passed: list[bool]) -> None:
    records = read_ahead(_waiting, Origins(["-"]), silent)
    _take_until(records, passed, [])
    active_children()[0].kill()
    with pytest.raises(ReadError, match="was ended: run the same command again"):
        deque(records, 0)


def test_small_sources_are_read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_process, "LARGE", 1000)
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "1", "text": "a"}', encoding="utf-8")
    assert isinstance(read_ahead(partial(read_documents, [str(path)]), Origins([str(path)]), silent), SourceRecords)


def test_the_process_ends_with_its_parent(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import time\n"
        "from multiprocessing import active_children\n"
        "from moverank.indexer.progress import silent\n"
        "from moverank.indexer.readers import reading_process\n"
        "from moverank.indexer.readers.origins import Origins\n"
        "from tests.indexer.readers.test_reading_process import _waiting\n"
        "if __name__ == '__main__':\n"
        "    reading_process.LARGE, reading_process._START = 1, -1e9\n"
        "    reading_process.core_count = lambda: 2\n"
        "    records = reading_process.read_ahead(_waiting, Origins(['-']), silent)\n"
        "    for _ in range(700): next(records)\n"
        "    print(active_children()[0].pid, flush=True)\n"
        "    time.sleep(60)\n",
        encoding="utf-8",
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    for _ in range(600):
        if not _is_running(child):
            return
        time.sleep(0.1)
    pytest.fail("it goes on")


def _is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
