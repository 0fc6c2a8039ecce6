"""The pages of the manual as the package delivers them."""

import re
from importlib.resources import files
from io import StringIO

import pytest
from rich.console import Console
from rich.markdown import Markdown

from moverank.indexer.errors import UsageError
from moverank.indexer.manual import page, topics
from moverank.rerank.words.languages import CODES, language_of
from moverank.rerank.words.tokenizer import Tokenizer, stop_words
from tests.contracts.documentation import PAGES, rows


def test_every_page_in_the_package_is_a_topic() -> None:
    shipped = {
        file.name.removesuffix(".md") for file in files("moverank.indexer.manual").iterdir() if ".md" in file.name
    }
    assert shipped == set(topics())


@pytest.mark.parametrize("topic", topics())
def test_a_page_begins_with_its_topic_and_its_summary(topic: str) -> None:
    heading = page(topic).splitlines()[0]
    assert heading.lower() == f"# {topic}: {topics()[topic]}".lower()
    assert heading[2].isupper()
    assert topics()[topic]


@pytest.mark.parametrize("topic", topics())
def test_no_word_of_a_page_is_cut_at_eighty_columns(topic: str) -> None:
    terminal = Console(width=80, file=StringIO(), highlight=False)
    terminal.print(Markdown(PAGES[topic]))
    assert isinstance(terminal.file, StringIO)
    assert "…" not in terminal.file.getvalue()


def test_the_page_on_words_is_what_the_tokenizer_does() -> None:
    rows = re.findall(r"^\| `(.+?)` \|(.*)\|$", page("words"), re.MULTILINE)
    assert len(rows) > 5
    tokenizer = Tokenizer(stop_words())
    assert [(text, tokenizer.words(text)) for text, _ in rows] == [
        (text, words.strip(" `").split()) for text, words in rows
    ]


def test_the_page_on_words_has_the_stop_words() -> None:
    shown = page("words").partition("are.\n\n")[2].split()
    file = files("moverank.rerank.words").joinpath("stop_words", "en.txt").read_text("utf-8")
    listed = {word for line in file.splitlines() if not line.startswith("#") for word in line.split()}
    assert (set(shown), len(shown)) == (listed, len(listed))


def test_the_page_on_languages_has_each_with_what_is_known_of_it() -> None:
    table = list(rows(page("languages"), "words by"))
    shown = {
        code: (*facts, name.lower()) for *facts, cells in table for code, name in re.findall(r"`(\w+)` (\w+)", cells)
    }
    assert len(shown) == sum(cells.count("`") for *_, cells in table) / 2 == len(CODES) - 1
    for code, facts in shown.items():
        one, yes = language_of(code), {True: "yes", False: "no"}
        assert facts == ("spaces" if one.spaces else "segmentation", yes[one.stop_words], yes[one.stems], one.name)
    letters = {code: language_of(code).letters for code in shown}
    (sentence,) = re.findall(
        r"For (`ar`.*) the default also counts sequences of four\s+letters, for `ko` of two", page("languages")
    )
    assert letters == {code: 4 * (f"`{code}`" in sentence) + 2 * (code == "ko") for code in shown}


def test_an_unknown_topic_lists_the_valid_ones() -> None:
    with pytest.raises(UsageError, match="no page 'nowhere': choose one of first, commands, formats, ") as raised:
        page("nowhere")
    assert all(topic in str(raised.value) for topic in topics())


def test_a_path_is_no_topic() -> None:
    with pytest.raises(UsageError):
        page("../manual/search")
