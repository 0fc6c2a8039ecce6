import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.readers.markup import text_of_html


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
