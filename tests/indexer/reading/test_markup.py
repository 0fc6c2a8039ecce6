from html import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.reading.formats.html import is_html, text_of_html, visible_text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>one <b>two</b>th<i>ree</i></p><p>four</p>", "one twothree\nfour"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("Fish &amp; chips &lt;3 &eacute; &#233; &unknown;", "Fish & chips <3 é é &unknown;"),
        ("<style>p {x}</style>seen<script>if (a < b) {}</script> too", "seen too"),
        ("<!-- <b>comment</b> <!-- -->x<!DOCTYPE html>y<!--z", "xy"),
        ("a &amp; <b>b</b> &lt; <a href='", "a & b < <a href='"),
        ("<pre><code>a\n  b</code></pre>", "a\nb"),
        ("<ul><li>x</li><li>y</li></ul>", "x\ny"),
        ("<table><tr><td>x</td><td>y</td></tr></table>", "x\ny"),
        ("5 < 6 and 7 > 3", "5 < 6 and 7 > 3"),
        ("<p>before</p><![x", "before\n<![x"),
        ("<p>before</p><![x[ <b>after", "before <![x[ after"),
        ("", ""),
    ],
)
def test_text_of_html(markup: str, text: str) -> None:
    assert text_of_html(markup) == text


@given(st.text(alphabet="<>![]-/&;#\"'= ascript?p\n", max_size=60))
def test_malformed_markup_has_a_text_without_blank_lines(markup: str) -> None:
    assert all(line.strip() for line in text_of_html(markup).splitlines())


@given(st.text(alphabet=st.characters(exclude_characters="<>&"), max_size=60))
def test_text_without_markup_keeps_its_words(text: str) -> None:
    assert text_of_html(text).split() == text.split()


CODE = [
    "if (a < b && c > d) { return a<b>(c); }",
    "for (i = 0; i < n; i++) x &= y; // std::vector<int> v",
    "The element `<p>` starts a paragraph, `</p>` ends it.",
    "In XML, <item id='1'><name>R&D</name></item> needs &amp; for &.",
    "AT&T and R&D, 3 < 5 > 2, <grin>, cat & dog <ann@example.org>",
    "A plain sentence about a plug which gets hot.",
]
HTML = [
    "I&#x27;m sure it&#x27;s &quot;hot&quot;<p>Unplug it",
    "<p>The plug <b>gets hot</b>.</p>",
    "Caf&eacute;&nbsp;au lait &amp; more",
    'See <a href="https://example.org/?a=1&amp;b=2" rel="nofollow">this page</a><br>and that.',
    "<div class=x>Hot<script>alert(1)</script></div>",
]


@pytest.mark.parametrize("text", HTML)
def test_texts_of_html_are_found(text: str) -> None:
    assert is_html([text] * 3)
    assert is_html([*[text] * 3, *["plain text"] * 10])
    assert is_html([*[text] * 6, *["plain text"] * 60])
    assert not is_html([text, *["R&D, a < b"] * 10])


@pytest.mark.parametrize("text", CODE)
def test_code_and_xml_are_no_html(text: str) -> None:
    assert not is_html([text] * 3)
    assert not is_html(CODE)
    assert not is_html([*["plain text"] * 20, text])
    assert not is_html([])


def test_plain_text_about_html_is_kept() -> None:
    forum = ["How do I close a <div> element?", "Use </div>; &nbsp; is a space.", "Thanks & bye", "See R&D <ann@b.c>"]
    assert not is_html(forum)
    questions = [
        f"How do I close a <p> inside a <{name}>? It shows <b>bold</b> text." for name in ("div", "form", "ul")
    ]
    assert not is_html(questions)
    assert is_html([question.replace("<div>", "<div></div>") for question in questions[:1]])


@pytest.mark.parametrize("quote", [False, True])
def test_escaped_texts_come_back(quote: bool) -> None:
    texts = [*CODE, 'He said "no" & left', "naïve café"]
    pages = [f"<p>{escape(text, quote=quote)}</p>" for text in texts]
    assert is_html(pages)
    assert [visible_text(page) for page in pages] == texts
    assert [visible_text(text) for text in ("a < b && c > d", "<grin>\n\n  x")] == ["a < b && c > d", "<grin>\n\n  x"]
