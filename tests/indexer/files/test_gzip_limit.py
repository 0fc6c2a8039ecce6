import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.files import gzip_limit
from moverank.indexer.files.gzip_limit import DAMAGED, GzipBomb, Unzipped, is_gzip


def unzipped(data: bytes, size: int = 1000) -> bytes:
    stream = Unzipped(io.BytesIO(data).read)
    return b"".join(iter(lambda: stream.read(size), b""))


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=3), st.integers(1, 60), st.integers(0, 40))
def test_members_are_joined(members: list[bytes], size: int, padding: int) -> None:
    data = b"".join(gzip.compress(member) + bytes(padding) for member in members)
    assert is_gzip(data)
    assert unzipped(data, size) == gzip.decompress(data) == b"".join(members)


@given(st.binary(min_size=200, max_size=3000), st.integers(1, 60), st.integers(1, 300), st.integers(1, 5))
def test_blocks_and_sizes_make_no_difference(content: bytes, size: int, block: int, times: int) -> None:
    stream = Unzipped(io.BytesIO(gzip.compress(times * content)).read, block)
    pieces = list(iter(lambda: stream.read(size), b""))
    assert b"".join(pieces) == times * content
    assert all(1 <= len(piece) <= size for piece in pieces)
    assert stream.read(size) == b""


@pytest.mark.parametrize("tail", [b"text", b"\x1f", b"\0\0text"])
def test_what_is_no_member_after_the_last_one_is_damage(tail: bytes) -> None:
    stream = Unzipped(io.BytesIO(gzip.compress(b"abc") + tail).read)
    assert stream.read(10) == b"abc"
    with pytest.raises(DAMAGED):
        stream.read(10)


@pytest.mark.parametrize("place", [3, 12, -1, -6])
def test_a_changed_byte_is_damage(place: int) -> None:
    data = bytearray(gzip.compress(b"some text that is long enough", mtime=0))
    data[place] ^= 0xFF
    with pytest.raises(DAMAGED):
        unzipped(bytes(data))


@given(st.binary(max_size=50), st.data())
def test_a_truncated_file_is_damaged(content: bytes, data: st.DataObject) -> None:
    whole = gzip.compress(content)
    with pytest.raises(DAMAGED):
        unzipped(whole[: data.draw(st.integers(1, len(whole) - 1))])


def test_a_bomb_is_stopped_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzip_limit, "ALWAYS_ALLOWED", 1 << 20)
    data = gzip.compress(bytes(1 << 24))
    stream = Unzipped(io.BytesIO(data).read)
    allowed = max(1 << 20, 200 * len(data))
    with pytest.raises(GzipBomb, match="over 200 times as long"):
        [stream.read(1000) for _ in range(allowed // 1000 + 1)]
    monkeypatch.setattr(gzip_limit, "ALWAYS_ALLOWED", 1 << 24)
    assert len(unzipped(data)) == 1 << 24


def test_much_data_of_a_usual_ratio_are_no_bomb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzip_limit, "ALWAYS_ALLOWED", 1)
    content = b"".join(b"line %d\n" % (number * 7919 % 10_007) for number in range(10_000))
    assert unzipped(gzip.compress(content)) == content


@pytest.mark.parametrize("head", [b"", b"\x1f", b"text", b"\x8b\x1f"])
def test_other_files_are_not_gzip(head: bytes) -> None:
    assert not is_gzip(head)
