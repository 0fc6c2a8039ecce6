"""Declared charsets: texts are decoded as browsers decode their labels (WHATWG Encoding Standard)."""

import codecs
import re

REPLACED = "%s: bytes that are not of the charset %s, which is declared, are read as \N{REPLACEMENT CHARACTER}"
"""The note on a place and a charset."""

_LABELS = {
    "cp936": "gb18030",
    "dos-874": "cp874",
    "iso-8859-8-i": "iso8859-8",
    "ms936": "gb18030",
    "unicode-1-1-utf-8": "utf-8",
    "windows-874": "cp874",
    "windows-949": "cp949",
    "x-cp1251": "cp1251",
    "x-cp1252": "cp1252",
    "x-euc-jp": "euc_jp",
    "x-gbk": "gb18030",
    "x-mac-cyrillic": "mac_cyrillic",
    "x-mac-roman": "mac_roman",
    "x-sjis": "cp932",
    "x-x-big5": "big5hkscs",
}
"""Codecs of labels that Python does not know, or knows as another one."""

_CODECS: dict[str, tuple[str, ...]] = {
    "ascii": ("utf-8", "cp1252"),
    "big5": ("big5hkscs",),
    "euc_jp": ("euc_jp", "euc_jis_2004"),
    "euc_kr": ("cp949",),
    "gb2312": ("gb18030",),
    "gbk": ("gb18030",),
    "iso8859-1": ("cp1252",),
    "iso8859-11": ("cp874",),
    "iso8859-9": ("cp1254",),
    "shift_jis": ("cp932",),
    "tis-620": ("cp874",),
}
"""The codecs that are tried for a declared one, which authors confuse with its extensions."""

_NO_TEXTS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"})
"""Codecs of names and of programs; some take quadratic time."""
_JAPANESE_MAIL = "iso2022_jp"

_META = re.compile(rb"""<meta\b[^<>]{0,200}?\bcharset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_XML = re.compile(rb"""\s*<\?xml\b[^<>]{0,200}?\bencoding\s*=\s*["']([\w.:-]+)""")
_HEAD = 4096  # bytes of a page within which it declares its charset


def declared_by_page(data: bytes) -> str | None:
    """Return the charset that an HTML page declares, in its XML declaration or by `<meta>`; None if it is unknown."""
    found = _XML.match(data[:_HEAD]) or _META.search(data[:_HEAD])
    label = found[1].decode() if found else None
    return label if _codecs(label) else None


def decode_declared(data: bytes, label: str | None, damaged: list[str]) -> str:
    """Decode a text by the charset that a `label` declares; without a usable one, as UTF-8 or Windows-1252.

    Bytes that are invalid in the declared charset, and no UTF-8, are replaced, and the label is added to `damaged`.
    """
    codecs_ = _codecs(label)
    for codec in (*codecs_, "utf-8", *(() if codecs_ else ("cp1252", "latin-1"))):
        try:
            return _japanese_mail(data) if codec == _JAPANESE_MAIL else data.decode(codec)
        except (LookupError, ValueError):
            pass
    if codecs_[-1] == "cp1252":
        return data.decode("latin-1")  # the control characters that browsers read there
    text = data.decode(codecs_[-1], "replace")
    if codecs_ == ("utf-8",) and text.replace("\N{REPLACEMENT CHARACTER}", "").isascii():
        return decode_declared(data, "iso-8859-1", damaged)  # no character of the text is UTF-8 beyond ASCII
    damaged.append(str(label))
    return text


def _codecs(label: str | None) -> tuple[str, ...]:
    """Return the codecs to try for a label, none if it is unknown."""
    name = (label or "").strip().lower()
    try:
        codec = codecs.lookup(_LABELS.get(name, name)).name
        b"".decode(codec)
    except (LookupError, ValueError):
        return ()
    return () if codec in _NO_TEXTS else _CODECS.get(codec, (codec,))


_ESCAPE = re.compile(rb"\x1b(\$[@B]|\([BJI])")


def _japanese_mail(data: bytes) -> str:
    """Decode ISO-2022-JP with the characters of Windows, such as \N{CIRCLED DIGIT ONE}, and half-width katakana."""
    first, *pieces = _ESCAPE.split(data)
    if b"\x1b" in first or any(b"\x1b" in piece for piece in pieces):
        raise UnicodeDecodeError(_JAPANESE_MAIL, data, 0, 1, "an unknown escape sequence")
    texts = [first.decode("ascii")]
    for escape, piece in zip(pieces[::2], pieces[1::2], strict=True):
        if escape.startswith(b"$"):
            texts += [
                _kanji(part) if place % 2 == 0 else part.decode() for place, part in enumerate(_LINE_END.split(piece))
            ]
        elif escape == b"(I":
            texts.append(bytes(byte | 0x80 if byte > 0x20 else byte for byte in piece).decode("cp932"))
        else:
            texts.append(piece.decode("ascii"))
    return "".join(texts)


_LINE_END = re.compile(rb"([\r\n]+)")


def _kanji(codes: bytes) -> str:
    """Decode pairs of bytes of JIS X 0208, as the code page of Windows that has the same rows and more."""
    shifted = bytearray()
    for row, cell in zip(codes[::2], codes[1::2], strict=True):
        lead = (row + 1) // 2 + (0x70 if row < 0x5F else 0xB0)
        shifted += bytes((lead, cell + 0x7E if row % 2 == 0 else cell + 0x1F + (cell >= 0x60)))
    return shifted.decode("cp932")
