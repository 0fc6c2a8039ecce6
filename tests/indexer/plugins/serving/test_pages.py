"""The pages without a browser: what they show is what the API answers, and nothing in them is executed."""

import math
import re
import time
import zlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi", reason="the extra `server` is not installed")
pytest.importorskip("jinja2", reason="the extra `server` is not installed")
pytest.importorskip("uvicorn", reason="the extra `server` is not installed")

from moverank import Collection, Reranker, Settings
from moverank.indexer.plugins.serving.limits import Limits
from moverank.indexer.plugins.serving.pages.duplicates_page import _Clock
from moverank.indexer.plugins.serving.pages.search_page import rankings_of
from moverank.indexer.plugins.serving.pages.typed_form import TypedForm
from moverank.rerank.distance.near_pairs import Limit, NearPairs, PairsOfRow
from tests.indexer.plugins.serving.pages_world import (
    IMAGE,
    LONG,
    SCRIPT,
    WORDS,
    PagesServer,
    make_forum,
    pages_server,
    thread,
)
from tests.installed import remove_plug_ins
from tests.waiting import HUNG

VIEW = "/collections/forum/view/"
QUERY = "mains plug gets hot"
_VOID = {"meta", "link", "input", "img", "br"}


@pytest.fixture(scope="module")
def forum(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_forum(tmp_path_factory.mktemp("forum"))


@pytest.fixture(scope="module")
def pages(forum: Path) -> Iterator[PagesServer]:
    with pages_server({"forum": forum}) as server:
        yield server


class Checked(HTMLParser):
    """Checks that tags are closed in order, and that nothing is executed; `text` is what is shown."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open
        assert len(set(self.ids)) == len(self.ids)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        assert tag not in ("style", "img", "iframe", "object")
        assert tag != "script" or (names["src"] or "").startswith("/static/")
        for name, value in attrs:
            assert name != "style"
            assert not name.startswith("on")
            assert not (value or "").lower().startswith("javascript:")
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def keys_of(html: str) -> list[str]:
    """Return the keys of the hits of a page, in order."""
    return [unescape(key) for key in re.findall(r"key </span><code>(.*?)</code>", html)]


def test_the_start_page_has_the_form(pages: PagesServer) -> None:
    reply = pages.get("/")
    assert reply.status == 200
    assert "script-src 'self'" in reply.headers["Content-Security-Policy"]
    text = Checked(reply.text).text
    assert "Search by meaning" in text
    assert "forum: 8 documents, revision 1" in text
    assert 'type="search" dir="auto"' in reply.text


@pytest.mark.parametrize(("code", "ranking"), [("en", "bm25:stem=english"), ("de", "bm25:stem=german"), ("vi", "bm25")])
def test_rankings_to_choose_from_have_the_stems_of_the_language(code: str, ranking: str) -> None:
    served: Any = SimpleNamespace(facts=SimpleNamespace(settings=Settings(language=code)))
    assert [rank for rank, _ in rankings_of(served) if rank.startswith("bm25")] == [ranking]


@pytest.mark.parametrize(
    "options", [{}, {"rank": "wmd"}, {"rank": "wmd+bm25", "k": 3}, {"rank": "bm25"}, {"depth": 12}]
)
def test_a_search_shows_the_hits_of_the_api(pages: PagesServer, options: dict[str, str | int]) -> None:
    expected = pages.api("/collections/forum/search", {"query": QUERY} | options)
    reply = pages.get("/", q=QUERY, **options)
    assert reply.status == 200
    assert keys_of(reply.text) == [hit["key"] for hit in expected["hits"]]
    text = Checked(reply.text).text
    assert f"The ranking is {expected['ranking']}." in text
    assert ("Certified: no other document" in text) == expected["certified"]
    assert f"{expected['counts']['candidates']} compared" in text
    for hit in expected["hits"]:
        assert f"{hit.get('total') or hit['distance'] or hit['score']:.4f}" in text
        for term in expected["terms"] if "costs" in hit else ():
            assert re.search(rf"{re.escape(term['name'])}\s*{hit['costs'][term['part']]:.4f}", text)


def test_words_of_the_query_are_marked(pages: PagesServer) -> None:
    html = pages.get("/", q="The PLUG zzzz gets hot", k=1).text
    assert ">Warm</mark> <mark>plug</mark>" in html
    assert "<mark>hot</mark>" in html
    assert "<mark>The</mark>" not in html
    assert "zzzz" in Checked(html).text.partition("Ranked by")[2]


def test_near_words_are_marked_with_the_word_and_the_cost(pages: PagesServer, forum: Path) -> None:
    lines = (forum.parent / "vectors.txt").read_text().splitlines()[1:]
    vectors = {word: [float(one) for one in numbers] for word, *numbers in map(str.split, lines)}
    for path in ("/", f"{VIEW}t4"):
        html = pages.get(path, q=QUERY, rank="wmd").text
        found = re.findall(r'class="moved" title="near (\w+), cost ([\d.]+)">(\w+)</mark>', html)
        words = {(source, word.lower()) for source, _, word in found}
        assert ("plug", "wine") in words
        for source, cost, word in found:
            assert float(cost) == pytest.approx(math.dist(vectors[source], vectors[word.lower()]), abs=0.006)
            others = QUERY.replace("gets ", "").split()
            assert source == min(others, key=lambda one: _share(vectors, one, word.lower()))
            assert _share(vectors, source, word.lower()) < 0.72
    assert 'class="moved" title' not in pages.get("/", q=QUERY, rank="bm25").text  # which compares no vectors


def test_bands_of_near_words_are_not_far(pages: PagesServer, forum: Path) -> None:
    """A step is a share of the typical cost of the query's words, whatever the costs of the document are."""
    lines = (forum.parent / "vectors.txt").read_text().splitlines()[1:]
    vectors = {word: [float(one) for one in numbers] for word, *numbers in map(str.split, lines)}
    words = QUERY.replace("gets ", "").split()
    typical = [math.dist(vectors[one], vectors["bus"]) / _share(vectors, one, "bus") for one in words]
    band = r'class="band step(\d)"[^>]*><title>(\w+) \u2192 (\w+): mass [\d.]+, cost ([\d.]+)'
    for key in ("t1", "t4", "titled"):
        bands = re.findall(band, pages.get(f"{VIEW}{key}", q=QUERY, rank="wmd").text)
        assert bands
        for step, source, target, cost in bands:
            share = float(cost) / (sum(typical) / len(typical))
            expected = 0 if source == target else 1 + sum(share > one for one in (0.6, 0.72, 0.9))
            assert abs(int(step) - expected) <= any(abs(share - one) < 0.1 for one in (0.6, 0.72, 0.9))
            if (source, target) == ("hot", "warm"):
                assert step == "1"


def _share(vectors: dict[str, list[float]], source: str, target: str) -> float:
    """Return the distance of two words in root mean squared distances of the first to all words."""
    squares = [math.dist(vectors[source], one) ** 2 for one in vectors.values()]
    return math.dist(vectors[source], vectors[target]) / math.sqrt(sum(squares) / len(squares))


def test_numbers_are_named_and_say_which_way_is_better(pages: PagesServer) -> None:
    better = {"wmd": "distance", "wmd+bm25": "total", "bm25": "score"}
    ways = {"distance": "smaller is nearer", "total": "smaller is better", "score": "larger is better"}
    for rank, name in better.items():
        html = pages.get("/", q=QUERY, rank=rank).text
        assert f"Ranked by the {name}, {ways[name]}" in html
        values = re.findall(r'<p class="value" title="(.*?)"><span class="quiet">(\w+)</span> ([\d.]+)</p>', html)
        assert {(way, shown) for way, shown, _ in values} == {(ways[name], name)}
        numbers = [float(value) for *_, value in values]
        assert numbers == sorted(numbers, reverse=name == "score")
        if name != "score":
            assert ways[name] in Checked(pages.get(f"{VIEW}t1", q=QUERY, rank=rank).text).text
            why = Checked(pages.get(f"{VIEW}t4", q=QUERY, why=1, k=1, rank=rank).text).text
            assert f"The {name} of hit 1 is" in why
            assert ways[name] in why


def test_long_titles_are_cut_and_are_on_the_page(tmp_path: Path) -> None:
    title = "plug " * 60 + "end"
    long = [thread("long", title, "plug"), thread("twin", title, "plug"), thread("short", "Plug", "plug")]
    with pages_server({"forum": make_forum(tmp_path, long)}) as server:
        hits = server.get("/", q="plug").text
        document = server.get(f"{VIEW}long", q="plug").text
        groups = server.get("/duplicates", within="9").text
    assert len(max(re.findall(r"<h3.*?</h3>", hits, re.DOTALL), key=len).replace("<mark>", "")) < 1500
    assert hits.count(f'title="{title}"') == 2
    assert groups.count(f'title="{title}"') == 2
    heading = re.search(r"<h1.*?</h1>", document, re.DOTALL)
    assert heading
    assert Checked(heading[0]).text == f"{title[:159].rstrip()}…"
    assert title in Checked(document).text


def test_another_ranking_takes_the_place_of_the_chosen_one(pages: PagesServer) -> None:
    html = pages.get("/", q=QUERY, rank="wmd", other_rank=" bm25 ").text
    assert "The ranking is <code>bm25" in html
    assert '<option value="wmd" selected>' in html
    assert '<option value="rwmd" selected>' in pages.get("/", q=QUERY, rank="rwmd").text


def test_filters_are_one_on_a_line(pages: PagesServer) -> None:
    assert keys_of(pages.get("/", q=QUERY, where="year>=2019\r\n\r\n label=travel ").text) == ["t2", "t3"]
    assert keys_of(pages.get("/", q=QUERY, where=["year>=2019", "label=food"]).text) == ["t4"]
    assert keys_of(pages.get("/", q=QUERY, where="tags=cat", exact="1").text) == ["a/b c?d#e"]


@pytest.mark.parametrize(
    ("fields", "status", "sentence"),
    [
        ({"k": "x"}, 422, "The number of hits must be a whole number above 0, not 'x'."),
        ({"k": "0"}, 422, "The number of hits must be a whole number above 0, not '0'."),
        ({"k": "99999"}, 422, "K must be at most 1000 here, not 99999."),
        ({"depth": "3"}, 422, "Depth must be at least k"),
        ({"where": "yeer=2"}, 422, "yeer"),
        ({"rank": "nothing"}, 422, "nothing"),
        ({"q": "zzzzqq"}, 422, "no word that the collection has a vector for"),
        ({"q": "the of and"}, 422, "all of its words are stop words"),
        ({"q": "cat " * 300_000}, 413, "at most 1,000,000 are allowed here"),
        ({"collection": "none"}, 404, "There is no collection 'none': choose forum."),
        ({"similar": "none", "q": ""}, 404, "The collection has no document with the key 'none'."),
    ],
)
def test_a_mistake_is_a_sentence_and_nothing_typed_is_lost(
    fields: dict[str, str], status: int, sentence: str, forum: Path
) -> None:
    with pages_server({"forum": forum}) as server:
        server_limit = 60_000  # of the address; longer queries are posted
        typed = {"q": QUERY, "where": "year=2019"} | fields
        if len(typed["q"]) > server_limit:
            reply = server.post("/", {"title": "t", "body": typed["q"]})
        else:
            reply = server.get("/", **typed)
    assert reply.status == status
    text = Checked(reply.text).text
    assert sentence in text
    if len(typed["q"]) < server_limit:
        assert f'value="{typed["q"]}"' in reply.text
        assert escape(typed["where"]) in reply.text


def test_a_document_shows_its_posts_and_the_flows_of_the_api(pages: PagesServer) -> None:
    expected = pages.api("/collections/forum/explain", {"query": QUERY, "key": "t1", "rank": "wmd+bm25"})
    html = pages.get(f"{VIEW}t1", q=QUERY, rank="wmd+bm25").text
    text = Checked(html).text
    assert f"Total {expected['total']:.4f}" in text
    assert f"distance of the words {expected['distance']:.4f}" in text
    assert "Opening post, rank 0" in text
    assert "Answer, rank 1" in text
    assert "The <mark>plug</mark> of the heater <mark>gets</mark> <mark>hot</mark>." in html
    rows = re.findall(r'<th scope="row"><bdi>(.*?)</bdi></th><td><bdi>(.*?)</bdi></td><td class="n">(.*?)</td>', html)
    assert rows == [(flow["source"], flow["target"], f"{flow['mass']:.4f}") for flow in expected["flows"]]
    assert html.count('class="band step') - 5 == len(rows)  # five are those of the legend


def test_a_document_alone_has_no_flows(pages: PagesServer) -> None:
    text = Checked(pages.get(f"{VIEW}t2").text).text
    assert "The train was late again." in text
    assert "Which words moved where" not in text
    assert "It has no text but its title." in Checked(pages.get(f"{VIEW}titled").text).text


def test_a_document_that_cannot_be_compared_says_why(pages: PagesServer) -> None:
    text = Checked(pages.get(f"{VIEW}odd", q="zzz plug", rank="bm25").text).text
    assert "No flows: that document has no word with a vector: it cannot be compared." in text
    assert "zzz qqq" in text
    assert "<mark>zzz</mark> qqq" in pages.get(f"{VIEW}odd", q="zzz", rank="bm25").text  # nothing else is known


def test_only_the_page_of_hits_requests_marks() -> None:
    assert not TypedForm.of([("q", "hot plug")]).options().highlight


def test_keys_of_any_characters_have_a_page(pages: PagesServer) -> None:
    for key, title in (("a/b c?d#e", "Pets"), (IMAGE, f"{SCRIPT} wine")):
        reply = pages.get(VIEW + quote(key, safe=""), q="wine and cat")
        assert reply.status == 200
        assert title in Checked(reply.text).text
    link = re.search(r'href="(/collections/forum/view/a[^"]*)"', pages.get("/", q="dog", k=1).text)
    assert link
    assert pages.get(unescape(link[1])).status == 200


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        (f"{VIEW}nothing", "The collection has no document with the key 'nothing'."),
        ("/collections/none/view/t1", "There is no collection 'none': choose forum."),
        ("/collections/none/view?q=cat&key=t1&why=1", "There is no collection 'none': choose forum."),
        ("/?collection=none", "There is no collection 'none': choose forum."),
        ("/duplicates?collection=none", "There is no collection 'none': choose forum."),
    ],
)
def test_what_is_not_there_is_a_page_too(pages: PagesServer, path: str, sentence: str) -> None:
    reply = pages.get(path)
    assert reply.status == 404
    assert sentence in Checked(reply.text).text


def test_why_not_shows_the_bounds_of_the_api(pages: PagesServer) -> None:
    for key, options in (("t2", {"k": 1}), ("t1", {"k": 1}), ("t4", {"k": 50}), ("t4", {"k": 1, "rank": "wmd+bm25"})):
        asked = {"query": QUERY, "key": key} | options
        why = pages.api("/collections/forum/why-not", asked)["why_not"]
        text = Checked(pages.get("/collections/forum/view", q=QUERY, key=key, why=1, **options).text).text
        assert ("It is a hit" in text) == (why["stage"] == "hit")
        assert all(f"{bound:.4f}" in text for bound in why["bounds"].values())
        assert f"{why['distance']:.4f}" in text
        name = "total" if options.get("rank") else "distance"
        known = f"The {name} of hit {why['k']} is {why['kth']:.4f};" if why["kth"] else "There are fewer than 50 hits;"
        assert known in text


@pytest.mark.parametrize(
    ("fields", "status", "sentence"),
    [
        ({"q": "plug"}, 422, "Type the key of the document"),
        ({"q": "plug", "key": "none"}, 404, "The collection has no document with the key 'none'."),
        ({"q": "plug", "key": "odd"}, 422, "no word with a vector"),
        ({"q": "plug", "key": "t1", "rank": "bm25"}, 422, "Only a distance has bounds"),
    ],
)
def test_why_not_says_what_is_missing(pages: PagesServer, fields: dict[str, str], status: int, sentence: str) -> None:
    reply = pages.get("/collections/forum/view", why=1, **fields)
    assert reply.status == status
    assert sentence in Checked(reply.text).text


def test_similar_texts_are_those_of_the_api(pages: PagesServer) -> None:
    expected = pages.api("/collections/forum/similar", {"key": "t2", "k": 3})
    reply = pages.get("/", similar="t2", k=3)
    assert keys_of(reply.text) == [hit["key"] for hit in expected["hits"]]
    assert "t2" not in keys_of(reply.text)
    assert "Nearest to Late train" in Checked(reply.text).text
    assert "Compared with document t2" in Checked(pages.get(f"{VIEW}t3", similar="t2").text).text


def test_a_thread_is_the_query(pages: PagesServer) -> None:
    thread = {"title": "Train", "body": "It is late.", "comment": ["the bus is early", "", "wine"]}
    comments = [{"text": text} for text in thread["comment"]]
    record = {"title": "Train", "body": "It is late.", "comments": comments}
    expected = pages.api("/collections/forum/search", {"query": record, "k": 4})["hits"]
    reply = pages.post("/", thread | {"k": 4})
    assert reply.status == 200
    assert keys_of(reply.text) == [hit["key"] for hit in expected]
    text = Checked(reply.text).text
    assert all(f"{hit['distance']:.4f}" in text for hit in expected)
    assert ">the bus is early</textarea>" in reply.text
    flows = pages.api("/collections/forum/explain", {"query": record, "key": "t2"})
    assert f"Distance {flows['distance']:.4f}" in Checked(pages.post(f"{VIEW}t2", thread).text).text
    why = pages.api("/collections/forum/why-not", {"query": record, "key": "t4", "k": 1})["why_not"]
    shown = Checked(pages.post("/collections/forum/view", thread | {"key": "t4", "k": 1, "why": "1"}).text).text
    assert f"that of this document is {why['distance']:.4f}" in shown


def test_a_pasted_thread_has_an_address(pages: PagesServer) -> None:
    thread = {"title": "Train \N{SNOWMAN}", "body": "It is late.", "comment": ["the bus is early", "wine"], "k": 3}
    reply = pages.post("/", thread)
    links = [unescape(link) for link in re.findall(r'<a href="([^"]*/view/[^"]*)"', reply.text)]
    assert len(links) == 6  # of each hit one at the title, one in what opens
    assert "formaction" not in reply.text
    comments = [{"text": "the bus is early"}, {"text": "wine"}]
    record = {"title": thread["title"], "body": "It is late.", "comments": comments}
    for key, link in zip(keys_of(reply.text), links[::2], strict=True):
        flows = pages.api("/collections/forum/explain", {"query": record, "key": key})
        shown = pages.get(link)
        assert (shown.status, len(link) < 1000) == (200, True)
        text = Checked(shown.text).text
        assert f"Distance {flows['distance']:.4f}" in text
        assert "Compared with the thread that you pasted" in text
        back, why = (unescape(one) for one in re.findall(r'href="([^"]*)">(?:Back to|Why is)', shown.text))
        assert keys_of(pages.get(back).text) == keys_of(reply.text)
        assert "It is a hit" in pages.get(why).text
    assert "thread=" not in "".join(re.findall(r'href="([^"]*similar=[^"]*)"', reply.text))


def test_a_thread_that_is_too_long_for_an_address_is_posted(pages: PagesServer) -> None:
    reply = pages.post("/", {"body": LONG, "k": 2})
    assert (reply.status, len(keys_of(reply.text))) == (200, 2)
    assert "This thread is too long for an address" in Checked(reply.text).text
    assert max(map(len, re.findall(r'(?:href|formaction)="([^"]*)"', reply.text))) < 300
    actions = re.findall(r'formaction="([^"]*/view/[^"]*)"', reply.text)
    assert "Which words moved where" in pages.post(unescape(actions[0]), {"body": LONG}).text


def test_a_thread_with_a_long_filter_is_answered_where_it_was_posted(pages: PagesServer) -> None:
    """The address would have more characters than servers and proxies take, and this one."""
    conditions = "\n".join(f"label!={i}" + "x" * 900 for i in range(90))
    reply = pages.post("/", {"body": "the train is late", "where": conditions, "k": 1})
    assert (reply.status, len(keys_of(reply.text))) == (200, 1)


@pytest.mark.parametrize(
    "content", [b"x", b"[", b'["a"]', b"{}", b'[["body", "\\ud800"]]', b'[["body", "' + bytes(3 * 2**20) + b'"]]']
)
@pytest.mark.parametrize("path", ["/", f"{VIEW}t1"])
def test_an_address_with_a_broken_thread_is_refused(pages: PagesServer, path: str, content: bytes) -> None:
    packed = urlsafe_b64encode(zlib.compress(content)).decode()
    for text in (packed, packed[: len(packed) // 2], "%", ""):
        reply = pages.browsed(f"{path}?thread={quote(text)}")
        assert reply.status == (400 if text else 200)
        if text:
            assert "The thread in the address cannot be read" in Checked(reply.text).text


def test_problems_are_pages_for_browsers_and_json_for_programs(pages: PagesServer) -> None:
    for path, status, heading, sentence in (
        ("/nothing/here", 404, "No such page", "There is nothing at this address."),
        ("/collections/none/documents/a", 404, "No such page", "There is no collection 'none': choose forum."),
        ("/rerank", 405, "No such page", "Status 405, method not allowed,"),
        ("/collections/forum/search?q=plug&k=x", 422, "Unprocessable content", "K:"),
        ("/static/nothing", 404, "No such page", "There is no such file."),
    ):
        page, problem = pages.browsed(path), pages.get(path)
        assert (page.status, problem.status, problem.json["status"]) == (status, status, status)
        assert page.headers.get_content_type() == "text/html"
        assert page.headers["Content-Length"] == str(len(page.text.encode()))
        assert "script-src 'self'" in page.headers["Content-Security-Policy"]
        text = Checked(page.text).text
        assert (heading in text, sentence in text, '<a href="/">Search</a>' in page.text) == (True, True, True)
        assert problem.headers.get_content_type() == "application/problem+json"
        assert page.headers["Vary"] == problem.headers["Vary"] == "Accept"
    other = pages.browsed("/", Host="evil.example")
    assert (other.status, "forum" in other.text) == (421, False)
    assert pages.browsed("/nothing", "HEAD").text == ""
    assert pages.browsed("/collections").headers.get_content_type() == "application/json"


def test_the_start_page_has_examples_of_the_collection(pages: PagesServer, tmp_path: Path) -> None:
    html = pages.get("/").text.partition('id="examples"')[2]
    links = re.findall(r'<li><a href="([^"]*)"><bdi>(.*?)</bdi></a></li>', html)
    titles = [unescape(title) for _, title in links]
    assert titles == ["Warm plug", "Late bus", "Heater", f"{SCRIPT} wine"]  # no word of "Pets" has a vector
    for link, _ in links:
        assert len(keys_of(pages.get(unescape(link)).text)) > 1
    untitled = [
        thread("a", "", "The plug of the heater in the house near the river gets hot"),
        thread("b", "", "plug(file, *args) -> int\n\nReplace the socket (which is searched for along the path). Late."),
        thread("c", ""),
    ]
    with pages_server({"forum": make_forum(tmp_path, untitled)}) as server:
        html = server.get("/").text
        assert "<bdi>The plug of the heater in the house near the</bdi>" in html
        assert "<bdi>Replace the socket</bdi>" in html


def test_no_near_duplicates_is_a_page_that_says_what_to_do(pages: PagesServer) -> None:
    html = pages.get("/duplicates", within="0.001", where="label=home", collection="forum").text
    assert "No two texts are that near. Try a larger distance:" in Checked(html).text
    links = [unescape(link) for link in re.findall(r'<a href="(/duplicates\?[^"]*within=[^"]*)"', html)]
    assert ["within=0.002" in links[0], "within=0.004" in links[1], "where" not in links[3]] == [True] * 3
    assert all("where=label%3Dhome" in link for link in links[:3])
    found = pages.get(links[3].replace("within=0.001", "within=9")).text
    assert "No two texts" not in found
    assert "within=0.1" in pages.get("/duplicates", within="0", where="label=home").text


def test_a_thread_gets_more_fields_for_answers(pages: PagesServer) -> None:
    reply = pages.post("/", {"title": "Train", "comment": ["a", "b"], "more": "1"})
    assert reply.text.count('name="comment"') == 3
    assert 'value="Train"' in reply.text
    assert pages.get("/").text.count('name="comment"') == 2
    empty = pages.post("/", {"title": " "})
    assert (empty.status, "Type or paste a thread" in empty.text) == (422, True)
    broken = pages.post("/", b"title=%ff\xff")
    assert (broken.status, "The form cannot be read." in broken.text) == (400, True)


def test_near_duplicates_are_those_of_the_library(pages: PagesServer, forum: Path) -> None:
    with Collection.open(forum) as collection:
        found = collection.dedupe(3.0)
    reply = pages.get("/duplicates", within="3", collection="forum")
    text = Checked(reply.text).text
    documents = len(found.kept) + len(found.removed)
    assert f"{len(found.removed)} of {documents} texts are within 3 by {found.ranked_by} of one that is kept" in text
    groups = re.findall(r"<article>(.*?)</article>", reply.text.partition('class="groups"')[2], re.DOTALL)
    keys = [[unescape(key) for key in re.findall(r"<code>(.*?)</code>", group)] for group in groups]
    assert keys == [[kept, *(one.key for one in copies)] for kept, copies in found.groups]
    assert all(f">{one.distance:.4f}</span>" in reply.text for one in found.removed)
    flows = pages.get(unescape(re.findall(r'href="([^"]*similar=[^"]*)"', reply.text)[-1]))
    assert "document t" in Checked(flows.text).text
    assert 'class="flows' in flows.text
    assert 'id="results"' not in pages.get("/duplicates").text
    filtered = pages.get("/duplicates", within="3", where="label=travel")
    assert keys_of_group(filtered.text) == ["t2", "t3"]
    for wrong in ("x", "-1", "inf", "nan"):
        reply = pages.get("/duplicates", within=wrong)
        assert reply.status == 422
        assert f"The distance must be a number of 0 or more, not '{wrong}'." in Checked(reply.text).text


def keys_of_group(html: str) -> list[str]:
    return re.findall(r"<code>(t\d)</code>", html)


def test_a_comparison_that_takes_too_long_ends(forum: Path) -> None:
    with pages_server({"forum": forum}, Limits(seconds=1e-4)) as server:
        replies = [server.get("/duplicates", within="0.1") for _ in range(3)]
    assert {reply.status for reply in replies} <= {503, 504}
    said = ("takes longer", "was over before it began", "was used up before there was an answer")
    assert all(any(sentence in reply.text for sentence in said) for reply in replies)


@pytest.mark.parametrize("read_only", [False, True])
def test_an_unfinished_comparison_leaves_a_file_unless_the_server_is_read_only(
    forum: Path, monkeypatch: pytest.MonkeyPatch, *, read_only: bool
) -> None:
    """The time of the first request is over after two documents."""

    class Late(_Clock):
        def __call__(self, task: str, done: int, total: int | None, unit: str) -> None:
            if done == 2:
                self._task.stop()
            super().__call__(task, done, total, unit)

    with pages_server({"forum": forum}, read_only=read_only) as server:
        with monkeypatch.context() as patch:
            patch.setattr("moverank.indexer.plugins.serving.pages.duplicates_page._Clock", Late)
            reply = server.get("/duplicates", within="0.7")
        assert reply.status == 503
        assert "takes longer than a request may: 2 of" in reply.text
        assert ("go on from there" in reply.text) is not read_only
        assert bool(list(forum.glob("pairs-*"))) is not read_only
        assert server.get("/duplicates", within="0.7").status == 200
    assert not list(forum.glob("pairs-*"))


def test_a_finished_comparison_is_kept(forum: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, run = list[int](), NearPairs.run

    def counted(self: NearPairs, first: int, limit: Limit) -> Iterator[PairsOfRow]:
        asked.append(first)
        return run(self, first, limit)

    monkeypatch.setattr(NearPairs, "run", counted)
    with pages_server({"forum": forum}) as server:
        replies = [server.get("/duplicates", within=within).text for within in ("3", "3.0", "2", "3")]
        assert len(asked) == 2
        assert keys_of_group(replies[0]) == keys_of_group(replies[3])
        for number in range(200):
            server.get("/duplicates", within=f"0.{number:03}")
        before = len(asked)
        server.get("/duplicates", within="2")  # of those that were found long ago, none is kept
    assert len(asked) == before + 1


def test_near_duplicates_are_those_of_the_current_settings(tmp_path: Path) -> None:
    """By the default ranking words are weighed by idf; a change of settings makes no new revision."""
    texts = ("plug plug plug socket", "plug plug socket socket", "train bus", *(f"plug {word} hot" for word in WORDS))
    path = make_forum(tmp_path, [thread(f"d{number:02}", "", text, "bread") for number, text in enumerate(texts)])
    with Collection.open(path) as collection, pages_server({"forum": path}) as server:
        for choices in ({"rank": "auto"}, {"gamma": 5.0}, {"gamma": 0.0}, {"title_weight": 9}, {"weights": "tfidf"}):
            collection.change_settings(**choices)
            found = collection.dedupe(1.5)
            sentence = f"{len(found.removed)} of {len(texts)} texts are within 1.5 by <code>{found.ranked_by}</code> of"
            expected = [sentence, *(f">{one.distance:.4f}</span>" for one in found.removed)]
            shown, until = "", time.monotonic() + HUNG  # the server looks for changes now and then
            while missing := [each for each in expected if each not in shown]:
                assert time.monotonic() < until, (choices, missing)
                shown = server.get("/duplicates", within="1.5").text


def test_static_files_may_be_kept(pages: PagesServer) -> None:
    html = pages.get("/").text
    for name, kind in (("style.css", "text/css"), ("page.js", "text/javascript"), ("icon.svg", "image/svg+xml")):
        (url,) = set(re.findall(rf'"(/static/{re.escape(name)}\?v=\w+)"', html))
        reply = pages.get(url)
        assert reply.headers["Content-Type"].startswith(kind)
        assert "immutable" in reply.headers["Cache-Control"]
    assert pages.get("/static/rendering.py").status == 404
    assert "http" not in pages.get("/static/style.css").text


def unescape_quotes(html: str) -> str:
    return html.replace("&#39;", "'").replace("&#34;", '"')


def test_texts_are_never_markup(pages: PagesServer) -> None:
    key = quote(IMAGE, safe="")
    for path in (
        f"/?q=wine&where={quote(f'year<1{SCRIPT}')}",
        f"/?q={quote(IMAGE)}+wine&rank={quote(SCRIPT)}",
        f"/?similar={key}",
        f"{VIEW}{key}?q={quote(SCRIPT)}+wine",
        f"/collections/forum/view?q={quote(SCRIPT)}+wine&key={key}&k=1&why=1",
        f"/collections/{quote(SCRIPT, safe='')}/view/{key}",
        f"/duplicates?within={quote(IMAGE)}",
        "/duplicates?within=9",
        "/?q=wine+bread",
    ):
        reply = pages.get(path)
        assert SCRIPT not in reply.text
        assert "<img" not in reply.text
        Checked(reply.text)
    assert escape(SCRIPT, quote=False) in unescape_quotes(pages.get("/?q=wine+bread").text)
    posted = pages.post("/", {"title": SCRIPT, "body": f"</textarea>{IMAGE} wine", "comment": SCRIPT})
    assert posted.status == 200
    Checked(posted.text)


@pytest.mark.parametrize(("k", "words", "status"), [(10, 130_000, 413), (1000, 2000, 413), (10, 2000, 200)])
def test_links_do_not_repeat_a_long_query_without_end(pages: PagesServer, k: int, words: int, status: int) -> None:
    reply = pages.post("/?collection=forum", {"title": "plug", "q": "plug " * words, "k": k})
    assert reply.status == status
    assert ("ask for fewer hits, or paste the text as a thread" in reply.text) == (status == 413)


def test_a_comparison_shows_what_the_library_finds(pages: PagesServer, forum: Path) -> None:
    claim, source = f"The plug gets warm. {SCRIPT} wine & 5 cats", f"A hot plug, {IMAGE} and cheese <5>"
    found = Checked(pages.post("/compare", {"claim": claim, "source": source}).text)
    evidence = Reranker.load(forum).evidence(claim, [source])
    assert f"{evidence.covered_units} of {evidence.units} units" in found.text
    assert "wine & 5 cats" in found.text
    changes = Reranker.load(forum).changes(claim, source)
    page = Checked(pages.post("/compare", {"claim": claim, "source": source, "versions": "1"}).text)
    assert f"{changes.counts['dropped']} dropped" in page.text


@pytest.mark.parametrize(
    ("fields", "status", "sentence"),
    [
        ({"claim": "plug"}, 422, "The second text is empty: type or paste both."),
        ({"source": "plug"}, 422, "The first text is empty: type or paste both."),
        ({"claim": "the", "source": "plug"}, 422, "The claim has no word to compare."),
        ({"claim": "plug", "source": "hot", "tau": "-1"}, 422, "The largest cost must be a number of 0 or more"),
        ({"claim": "plug", "source": "hot", "tau": "x"}, 422, "The largest cost must be a number of 0 or more"),
        ({"claim": "plug", "source": "plug " * 50_000}, 413, "The second text has 2"),
        ({"claim": "plug", "source": "hot", "collection": "none"}, 404, "none"),
    ],
)
def test_mistakes_in_a_comparison_are_named(
    pages: PagesServer, fields: dict[str, str], status: int, sentence: str
) -> None:
    reply = pages.post("/compare", fields)
    assert reply.status == status
    assert sentence in Checked(reply.text).text
    assert fields.get("claim", "") in reply.text


def test_without_the_plug_in_the_page_is_neither_shown_nor_there(
    forum: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove_plug_ins(monkeypatch, tmp_path)
    with pages_server({"forum": forum}) as pages:
        page = pages.get("/").text
        assert ("/duplicates" in page, "/compare" in page) == (True, False)
        assert [pages.get("/compare").status, pages.post("/collections/forum/compare", {}).status] == [404, 404]


def test_the_form_of_a_comparison_is_empty_at_first(pages: PagesServer) -> None:
    assert pages.get("/compare").status == 200
    assert pages.get("/compare", collection="none").status == 404
