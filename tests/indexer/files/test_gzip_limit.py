import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.files import gzip_limit
from moverank.indexer.files.gzip_limit import DAMAGED, GzipBomb, Unzipped, is_gzip


def unzipped(data: bytes, size: int = 1000) -> bytes:
    stream = Unzipped(io.BytesIO(data))
    return b"".join(iter(lambda: stream.read(size), b""))


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=3), st.integers(1, 60))
def test_members_are_joined(members: list[bytes], size: int) -> None:
    data = b"".join(gzip.compress(member) for member in members)
    assert is_gzip(data)
    assert unzipped(data, size) == b"".join(members)


@given(st.binary(max_size=50), st.data())
def test_a_truncated_file_is_damaged(content: bytes, data: st.DataObject) -> None:
    whole = gzip.compress(content)
    with pytest.raises(DAMAGED):
        unzipped(whole[: data.draw(st.integers(1, len(whole) - 1))])


def test_a_bomb_is_stopped_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzip_limit, "ALWAYS_ALLOWED", 1 << 20)
    data = gzip.compress(bytes(1 << 24))
    stream = Unzipped(io.BytesIO(data))
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
