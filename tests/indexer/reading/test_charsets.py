"""Declared charsets, decoded as browsers do: the right texts are encoded by the wider charset, or are known bytes."""

import pytest

from moverank.indexer.reading.charsets import declared_by_page, decode_declared


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [
        ("gb2312", "朱镕基".encode("gb18030"), "朱镕基"),
        ("x-gbk", "镕€".encode("gb18030"), "镕€"),
        ("Shift_JIS", "①㈱髙".encode("cp932"), "①㈱髙"),
        ("x-sjis", "ｶﾀｶﾅ".encode("cp932"), "ｶﾀｶﾅ"),
        ("euc-kr", "똠방각하".encode("cp949"), "똠방각하"),
        ("ks_c_5601-1987", "똠".encode("cp949"), "똠"),
        ("big5", "㗎".encode("big5hkscs"), "㗎"),
        ("iso-8859-1", b"\x93caf\xe9\x94 \x80", "“café” €"),
        ("latin1", b"\x81", "\x81"),
        ("us-ascii", b"caf\xe9", "café"),
        ("us-ascii", "café".encode(), "café"),
        ("iso-8859-9", b"\x93\xfe", "“ş"),
        ("tis-620", b"\x80\xa1", "€ก"),
        ("iso-2022-jp", "日本語\nabc".encode("iso2022_jp"), "日本語\nabc"),
        ("iso-2022-jp", b"\x1b$B-!\x1b(B a \x1b(I6@\x1b(J b", "① a ｶﾀ b"),
        ("iso-2022-jp", b'\x1b$B$"$$\r\n\x1b(Bx', "あい\r\nx"),
        ("euc-jp", b"\xad\xa1", "①"),
        ("windows-1251", b"\xcf", "П"),
        ("unicode-1-1-utf-8", "é".encode(), "é"),
        (None, "é".encode(), "é"),
        (None, b"\x93\xe9\x94", "“é”"),
        ("nonsense", b"\xe9", "é"),
        ("punycode", b"plain", "plain"),
        ("utf-8", b"caf\xe9", "café"),
    ],
)
def test_a_label_names_its_extension(label: str | None, data: bytes, text: str) -> None:
    damaged: list[str] = []
    assert decode_declared(data, label, damaged) == text
    assert damaged == []


@pytest.mark.parametrize(
    ("label", "data", "text"),
    [
        ("utf-8", "heiß ".encode() + b"\xff", "heiß \N{REPLACEMENT CHARACTER}"),
        ("gb2312", "插头".encode("gb18030") + b"\xff", "插头\N{REPLACEMENT CHARACTER}"),
        ("shift_jis", "コ".encode("cp932") + b"\x82", "コ\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_bytes_of_no_charset_are_replaced_and_reported(label: str, data: bytes, text: str) -> None:
    damaged: list[str] = []
    assert decode_declared(data, label, damaged) == text
    assert damaged == [label]


@pytest.mark.parametrize(
    ("page", "label"),
    [
        (b'<?xml version="1.0" encoding="gb2312"?><html><meta charset="utf-8">', "gb2312"),
        (b"<html><head><META content='text/html; charset=Shift_JIS' http-equiv=content-type>", "Shift_JIS"),
        (b"<meta charset=nonsense>", None),
        (b"<p>charset=gb2312", None),
    ],
)
def test_a_page_declares_its_charset(page: bytes, label: str | None) -> None:
    assert declared_by_page(page) == label
