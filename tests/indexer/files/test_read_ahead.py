"""Bytes that are read ahead in a thread are those that are read at once, with the same error behind them."""

import io
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.files import read_ahead
from moverank.indexer.files.read_ahead import ReadAhead


@given(content=st.binary(max_size=3000), size=st.integers(1, 700), block=st.integers(1, 500))
def test_the_same_bytes_are_read(content: bytes, size: int, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read_ahead, "_BLOCK", block)
        with ReadAhead(io.BytesIO(content).read) as ahead:
            pieces = list(iter(lambda: ahead.read(size), b""))
            assert ahead.read(size) == b""
    assert b"".join(pieces) == content
    assert all(len(piece) <= size for piece in pieces)


def test_an_error_follows_the_bytes_before_it_and_stays() -> None:
    blocks = iter([b"one", b"two"])

    def read(_size: int) -> bytes:
        for block in blocks:
            return block
        raise EOFError("cut short")

    with ReadAhead(read) as ahead:
        assert [ahead.read(9), ahead.read(1), ahead.read(9)] == [b"one", b"t", b"wo"]
        for _ in range(2):
            with pytest.raises(EOFError, match="cut short"):
                ahead.read(9)


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_nothing_reads_after_the_end_of_the_block(taken: int) -> None:
    before, calls = threading.active_count(), []

    def read(size: int) -> bytes:
        calls.append(size)
        return b"x"

    with ReadAhead(read) as ahead:
        for _ in range(taken):
            ahead.read(1)
    count = len(calls)
    assert count <= taken + 6
    assert threading.active_count() == before
    assert len(calls) == count
