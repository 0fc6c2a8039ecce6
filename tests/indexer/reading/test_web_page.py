import pytest

from moverank.indexer.values.documents import Document, Part
from tests.indexer.reading.conftest import Read, Write

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<title>
  Caf&eacute; &amp; bar</title>
<meta name="Author" content="Ada  Lovelace">
<meta property="article:published_time" content="2021-03-05T10:00:00+01:00">
<style>p { color: red }</style><script>if (a < b) { document.write("<p>written</p>") }</script>
</head><body><noscript>Switch it on!</noscript><template><p>later</p></template>
<nav><a href="/">Home</a></nav><h1>Welcome</h1><p>Plugs<br>get <b>hot</b>.</p>
<svg><title>Icon</title></svg></body></html>"""


def test_a_page(write: Write, documents: Read) -> None:
    ((page,), rejected) = documents(write("d/page.html", PAGE))
    assert rejected == []
    assert page == Document(
        "d/page.html",
        "Café & bar",
        (Part("Home\nWelcome\nPlugs\nget hot."),),
        metadata={"author": "Ada Lovelace", "date": "2021-03-05T09:00:00Z"},
    )


def test_the_extension_is_not_needed(write: Write, documents: Read) -> None:
    ((page,), _) = documents(write("page", PAGE))
    assert page.title == "Café & bar"


def test_a_page_without_a_title_has_that_of_its_first_line(write: Write, documents: Read) -> None:
    ((page,), _) = documents(write("a.html", "<h1>Hot plugs</h1><p>are bad"))
    assert (page.title, page.parts, page.title_counts) == ("Hot plugs", (Part("Hot plugs\nare bad"),), True)


@pytest.mark.parametrize("meta", ["", "<title>", "<title>never closed<body>text</body>", "<title></title><p>text"])
def test_malformed_titles(write: Write, documents: Read, meta: str) -> None:
    found, rejected = documents(write("a.html", f"<html>{meta}"))
    assert [document.parts for document in found] == ([(Part("text"),)] if "text" in meta else [])
    assert len(rejected) == 1 - len(found)


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('<meta charset="iso-8859-1">', "cp1252"),
        ("<meta http-equiv='Content-Type' content='text/html; charset=koi8-r'>", "koi8-r"),
        ("<META CHARSET=Shift_JIS>", "shift_jis"),
        ("", "utf-16"),
        ("", "utf-8-sig"),
    ],
)
def test_the_encoding_is_that_which_the_page_names(write: Write, documents: Read, head: str, encoding: str) -> None:
    text = {"cp1252": "“café”", "koi8-r": "кофе", "shift_jis": "コーヒー"}.get(encoding, "“кофе”")
    ((page,), _) = documents(write("a.html", f"{head}<p>{text}".encode(encoding)))
    assert page.parts == (Part(text),)


def test_a_page_of_no_known_encoding_is_rejected(write: Write, documents: Read) -> None:
    found, (rejection,) = documents(write("a.html", b"<meta charset=nonsense><p>\xe9"))
    assert found == []
    assert "is not UTF-8: name the encoding of the file" in rejection.reason
    ((page,), _) = documents("a.html", encoding="latin-1")
    assert page.parts == (Part("é"),)
