"""The pages in a browser: with and without scripts, by keyboard alone, narrow, in the dark, and checked by axe-core."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi", reason="the extra `server` is not installed")
pytest.importorskip("uvicorn", reason="the extra `server` is not installed")
pytest.importorskip("playwright", reason="the extra `browser` is not installed")
pytest.importorskip("axe_playwright_python", reason="the extra `browser` is not installed")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Error, Page, Route, expect

from moverank import Document, Embedding, Part, Reranker
from moverank.indexer.formatters.html_page import explanation_page, ranking_page
from moverank.indexer.plugins.evidence.comparison_page import changes_page, evidence_page
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.ranking import Flow, Highlight, Hit, Ranking
from tests.indexer.plugins.serving.pages_world import (
    IMAGE,
    LONG,
    SCRIPT,
    PagesServer,
    make_forum,
    pages_server,
    thread,
)

QUERY = "mains plug gets hot"
KEY = quote(IMAGE, safe="")
PAGES = {
    "start": "/",
    "hits": f"/?q={quote(QUERY)}",
    "odd hits": "/?q=wine+bread&rank=wmd%2Bbm25&where=note",
    "options": "/?q=plug&where=year%3E%3D2019&exact=1",
    "mistake": "/?q=plug&k=x",
    "similar": "/?similar=t2",
    "document": "/collections/forum/view/t1?q=mains+plug+gets+hot&rank=wmd%2Bbm25",
    "odd document": f"/collections/forum/view/{KEY}?q=wine+and+bread",
    "no document": "/collections/forum/view/none",
    "no page": "/nothing",
    "no groups": "/duplicates?within=0.001&where=label%3Dhome",
    "why not": "/collections/forum/view?q=plug&key=t4&k=1&why=1",
    "odd why not": f"/collections/forum/view?q=plug&key={KEY}&k=2&why=1",
    "duplicates": "/duplicates?within=9",
    "compare": "/compare",
}

Open = Callable[..., Any]

_HEIGHT = "(one) => one.getBoundingClientRect().height"
_BOX = "(one) => { const box = one.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]; }"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagesServer]:
    directory = tmp_path_factory.mktemp("site")
    forum = make_forum(directory)
    other = make_forum(tmp_path_factory.mktemp("other"))
    with pages_server({"forum": forum, "other": other}) as server:
        yield server


@contextmanager
def opened(browser: Browser, site: PagesServer, **choices: Any) -> Iterator[Page]:
    """Open a page at the site's start, whose scripts must run without an error and only with the site itself."""
    context = browser.new_context(base_url=site.url, viewport={"width": 900, "height": 800}, **choices)
    page, faults = context.new_page(), list[str]()
    page.set_default_timeout(15_000)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if _is_fault(message.text) else None)
    page.on("request", lambda request: None if request.url.startswith(site.url) else faults.append(request.url))
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    try:
        yield page
        assert page.title() != "broken"
    finally:
        context.close()
    assert not faults


def _is_fault(text: str) -> bool:
    return "the server responded with a status of 4" not in text  # a mistake of the user has such a status


@pytest.fixture
def page(browser: Browser, site: PagesServer) -> Iterator[Page]:
    with opened(browser, site) as page:
        yield page


def keys_of(page: Page) -> list[str]:
    """Return the keys of the hits."""
    keys: list[str] = page.locator(".hit > .facts code").all_inner_texts()
    return keys


def open_all(page: Page) -> None:
    """Open all that can be opened, and what is in it."""
    for _ in range(2):
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        expect(page.locator("details[data-src]:not(:has(.posts))")).to_have_count(0)


def test_a_search_shows_hits_without_a_new_page(page: Page) -> None:
    page.goto("/")
    page.evaluate("window.same = true")
    page.fill("#q", QUERY)
    page.click("text=Search >> nth=-1")
    expect(page.locator("#results-title")).to_have_text("7 hits")
    assert keys_of(page)[0] == "t1"
    expect(page.locator(".hit mark:not(.moved)").first).to_have_text("plug")
    expect(page.locator(".hit mark.moved").first).to_have_text("Warm")
    expect(page.locator(".hit mark.moved").first).to_have_attribute("title", re.compile("^near hot, cost "))
    expect(page.locator(".verdict")).to_contain_text("Certified: no other document is nearer")
    expect(page.locator("#status")).to_contain_text("7 hits. Certified")
    assert page.evaluate("window.same && document.activeElement.id") == "results"
    assert "q=mains+plug+gets+hot" in page.url
    assert page.title() == f"{QUERY} \N{EN DASH} moverank"
    page.reload()
    expect(page.locator("#results-title")).to_have_text("7 hits")
    page.go_back()
    expect(page.locator(".intro")).to_be_visible()


def test_a_later_search_is_never_overwritten_by_an_earlier_one(page: Page) -> None:
    held = list[Route]()
    page.route(re.compile("q=wine"), lambda route: held.append(route))
    page.goto("/")
    page.fill("#q", "wine")
    page.press("#q", "Enter")
    page.fill("#q", QUERY)
    page.press("#q", "Enter")
    expect(page.locator("#results-title")).to_have_text("7 hits")
    shown = keys_of(page)
    for route in held:
        with suppress(Error):  # the page has ended the request
            route.continue_()
    page.evaluate("fetch('/health')")  # the answer of a request that was sent later
    assert (len(held), keys_of(page)) == (1, shown)
    assert "q=mains" in page.url
    expect(page.locator("#found")).not_to_have_attribute("aria-busy", "true")
    page.go_back()
    expect(page.locator(".intro")).to_be_visible()  # the first search has left no address


def test_a_slow_search_says_so_and_can_be_stopped(page: Page) -> None:
    held = list[Route]()
    page.route(re.compile("q=wine"), lambda route: held.append(route))
    page.goto(PAGES["hits"])
    before = keys_of(page)
    page.fill("#q", "wine")
    page.press("#q", "Enter")
    expect(page.locator("#slow")).to_contain_text("This takes a while; the time limit is 30 seconds.")
    assert page.locator("#slow").get_attribute("aria-live") == "polite"
    page.click("#slow >> text=Stop")
    expect(page.locator("#slow")).to_be_empty()
    expect(page.locator("#status")).to_have_text("Stopped")
    expect(page.locator("#found")).not_to_have_attribute("aria-busy", "true")
    assert (keys_of(page), page.input_value("#q")) == (before, "wine")
    page.unroute(re.compile("q=wine"))
    page.press("#q", "Enter")
    expect(page.locator("#found")).not_to_have_attribute("aria-busy", "true")
    expect(page.locator(".hit mark").first).to_have_text("wine")
    expect(page.locator("#slow")).to_be_empty()


def test_a_slow_form_and_a_slow_hit_say_so(page: Page) -> None:
    held = list[Route]()
    page.route(re.compile("within=|/view/"), lambda route: held.append(route))
    page.goto("/duplicates")
    _say_and_stop(page, "form button")
    page.goto(PAGES["hits"])
    page.locator(".hit summary").first.click()
    page.click("#slow >> text=Stop")
    expect(page.locator(".hit details").first).not_to_have_attribute("open", "")
    page.unroute(re.compile("within=|/view/"))
    page.locator(".hit summary").first.click()
    expect(page.locator(".hit .diagram")).to_be_visible()


def _say_and_stop(page: Page, selector: str) -> None:
    """Follow a link whose page is held back, until the note of slow work comes; then stop it."""
    page.evaluate(
        """(selector) => {
            const slow = document.getElementById("slow");
            new MutationObserver(() => {
                if (!slow.firstChild) return;
                document.body.dataset.said = slow.textContent;
                slow.querySelector("button").click();
            }).observe(slow, { childList: true });
            setTimeout(() => document.querySelector(selector).click());
        }""",
        selector,
    )  # a click of playwright would wait for the answer
    expect(page.locator("body")).to_have_attribute("data-said", re.compile("the time limit is 30 seconds"))
    expect(page.locator("#slow")).to_be_empty()


@pytest.mark.parametrize(
    ("path", "selector"),
    [
        (PAGES["hits"], ".hit .actions a"),
        (PAGES["hits"], ".hit h3 a"),
        ("/", "#examples ~ ul a"),
        (PAGES["document"], "#document > .actions a"),
        (PAGES["why not"], ".actions a"),
        (PAGES["no groups"], "#results p a"),
    ],
    ids=["similar", "title", "example", "back", "back of why not", "larger distance"],
)
def test_a_slow_link_says_so(page: Page, path: str, selector: str) -> None:
    page.goto(path)
    here = page.url
    page.route(re.compile("."), lambda _: None)
    _say_and_stop(page, selector)
    assert page.url == here


def test_a_link_within_the_page_or_to_another_window_waits_for_nothing(page: Page) -> None:
    page.goto(PAGES["hits"])
    page.evaluate("""() => {
        const within = document.createElement("a");
        within.id = "within";
        within.href = "#results";
        document.getElementById("results").append(within);
        within.click();
        addEventListener("click", (event) => event.preventDefault());
        const click = new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: true });
        document.querySelector(".hit h3 a").dispatchEvent(click);
    }""")
    page.wait_for_timeout(1300)
    expect(page.locator("#slow")).to_be_empty()


def test_a_filter_and_a_ranking_are_chosen(page: Page) -> None:
    page.goto("/")
    page.fill("#q", QUERY)
    page.select_option("#rank", "wmd")
    page.click("text=Filters and more options")
    page.fill("#where", "year>=2019\nlabel=travel")
    page.press("#q", "Enter")
    expect(page.locator("#results-title")).to_have_text("2 hits")
    expect(page.locator(".how summary").first).to_have_text("Ranked by the distance, smaller is nearer")
    expect(page.locator(".how code")).to_be_hidden()
    page.locator(".how summary").first.click()
    expect(page.locator(".how code")).to_have_text("wmd")
    page.fill("#where", "label<x\nyear=1")
    page.press("#q", "Enter")
    expect(page.locator(".problem")).to_contain_text("The filter 'label<x': < compares numbers and dates")
    assert page.input_value("#where") == "label<x\nyear=1"
    assert page.evaluate("document.activeElement.id") == "q"
    page.select_option("#collection", "other")
    page.fill("#where", "")
    page.press("#q", "Enter")
    expect(page.locator(".hit h3 a").first).to_have_attribute("href", re.compile("/collections/other/view/"))


def test_a_hit_opens_in_place_with_its_thread_and_flows(page: Page) -> None:
    page.goto(PAGES["hits"])
    first = page.locator(".hit").first
    first.locator("summary").first.click()
    expect(first.locator(".post")).to_have_count(2)
    expect(first.locator(".post mark").first).to_have_text("plug")
    expect(page.locator("#status")).to_have_text("Loaded")
    first.locator("text=The flows as a table").click()
    rows = first.locator("tbody tr")
    assert rows.count() == first.locator(".diagram .band").count()
    mass = [float(text) for text in first.locator("tbody td:nth-child(3)").all_inner_texts()]
    assert sum(mass) == pytest.approx(1, abs=1e-3)
    first.locator(".diagram .word").first.hover()
    lit = first.locator(".dimmed .band.lit").count()
    assert 0 < lit < first.locator(".diagram .band").count()
    page.locator(".hit").nth(1).locator("summary").first.click()
    expect(page.locator(".hit .diagram")).to_have_count(2)
    assert page.evaluate("new Set([...document.querySelectorAll('[id]')].map((one) => one.id)).size") == page.evaluate(
        "document.querySelectorAll('[id]').length"
    )


def test_the_width_of_a_band_is_the_mass(page: Page) -> None:
    page.goto(PAGES["document"])
    page.click("text=The flows as a table")
    cells = page.locator("figure ~ details tbody td:nth-child(3)").all_inner_texts()
    bars = page.locator(".diagram > rect").evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().height)")
    left = sum(bars) / 2  # the bars of both sides have the same mass
    assert left == pytest.approx(340, abs=1)
    assert sum(map(float, cells)) == pytest.approx(1, abs=1e-3)
    expect(page.locator(".legend li")).to_have_count(5)


@pytest.mark.parametrize("width", [320, 461, 900])
def test_nothing_of_a_diagram_is_clipped(browser: Browser, site: PagesServer, width: int) -> None:
    """Every word and bar is within the diagram; a word that is too long for its place ends with dots."""
    long = "pneumonoultramicroscopicsilicovolcanoconiosis"
    with opened(browser, site) as page:
        page.set_viewport_size({"width": width, "height": 800})
        for path in (PAGES["document"], "/collections/forum/view/t1?q=plug&rank=wmd"):
            page.goto(path)
            page.locator(".diagram .word").first.evaluate("(one, text) => { one.textContent = text; }", long)
            outer = page.locator(".diagram").evaluate(_BOX)
            boxes = [
                *page.locator(".diagram .word, .diagram rect, .diagram > svg").evaluate_all(f"(all) => all.map({_BOX})")
            ]
            assert len(boxes) > 3
            for left, top, right, bottom in boxes:
                assert left >= outer[0] - 0.5
                assert top >= outer[1] - 0.5
                assert right <= outer[2] + 0.5
                assert bottom <= outer[3] + 0.5
            first = page.locator(".diagram .word").first
            expect(first).to_have_css("text-overflow", "ellipsis")
            if width == 320:
                assert first.evaluate("(one) => one.scrollWidth > one.clientWidth")
            expect(first).to_have_attribute("title", re.compile(r": mass [01]\.\d{4}$"))


def test_why_not_similar_and_back(page: Page) -> None:
    page.goto("/?q=plug&k=1")
    page.fill("#key", "t4")
    page.click("text=Explain")
    expect(page.locator("#why summary").first).to_have_text("Why not this one?")
    expect(page.locator("#why .verdict")).to_contain_text("The distance of hit 1 is")
    expect(page.locator("#why tbody tr")).to_have_count(7)
    page.click("text=Back to the hits")
    expect(page.locator("#results-title")).to_have_text("1 hit")
    page.click(".hit >> text=Similar")
    expect(page.locator(".compared")).to_contain_text("Nearest to")
    assert keys_of(page)
    page.click(".compared a")
    expect(page.locator("#posts-title")).to_be_visible()


def test_a_pasted_thread_finds_similar_ones(page: Page) -> None:
    page.goto("/")
    page.click("text=A whole thread as the query")
    page.fill("#title", "Train")
    page.fill("#body", "The train was late.")
    page.fill("#comment1", "Take the bus.")
    page.click("text=Add an answer")
    expect(page.locator("#comment3")).to_be_focused()
    assert page.input_value("#body") == "The train was late."
    page.click("text=Find similar threads")
    expect(page.locator("#results")).to_be_in_viewport()
    assert set(keys_of(page)[:2]) == {"t2", "t3"}
    address = page.url
    page.locator(".hit summary").first.click()
    expect(page.locator(".hit .diagram")).to_be_visible()
    page.locator(".hit h3 a").first.click()
    expect(page.locator("#document .diagram")).to_be_visible()
    page.reload()
    expect(page.locator(".compared")).to_contain_text("the thread that you pasted")
    page.click("text=Back to the hits")
    assert page.input_value("#body") == "The train was late."
    assert page.url in address
    page.fill("#key", "t4")
    page.click("text=Explain")
    expect(page.locator(".compared")).to_contain_text("the thread that you pasted")


@pytest.mark.parametrize("scripts", [True, False])
def test_hits_of_a_thread_too_long_for_an_address_open(browser: Browser, site: PagesServer, *, scripts: bool) -> None:
    with opened(browser, site, java_script_enabled=scripts) as page:
        page.goto("/")
        page.click("text=A whole thread as the query")
        page.fill("#body", LONG)
        page.click("text=Find similar threads")
        if scripts:
            page.locator(".hit summary").first.click()
            expect(page.locator(".hit .diagram")).to_be_visible()
        page.locator(".hit h3 button").first.click()
        expect(page.locator("#document .diagram")).to_be_visible()
        page.go_back()
        page.fill("#key", "t4")
        page.click("text=Explain")
        expect(page.locator(".compared")).to_contain_text("the thread that you pasted")


def test_the_search_field_has_the_focus_and_examples_are_searched(page: Page) -> None:
    page.goto("/")
    expect(page.locator("#q")).to_be_focused()  # before that, letters are lost on a slow machine
    page.keyboard.type("plug")
    page.keyboard.press("Enter")
    expect(page.locator(".hit mark").first).to_have_text("plug")
    page.goto("/?q=zzzzqq")
    expect(page.locator("#q")).to_be_focused()
    page.goto("/")
    page.locator(".intro li a").first.click()
    expect(page.locator("#q")).to_have_value("Warm plug")
    expect(page.locator(".hit h3").first).to_have_text("Warm plug")


@pytest.mark.parametrize("scripts", [True, False])
def test_an_address_without_a_page_leads_back(browser: Browser, site: PagesServer, *, scripts: bool) -> None:
    with opened(browser, site, java_script_enabled=scripts) as page:
        reply = page.goto("/nothing")
        assert reply
        assert reply.status == 404
        expect(page.locator("h1")).to_have_text("No such page")
        page.click("main >> text=Search")
        expect(page.locator("#q")).to_be_visible()
        page.goto("/duplicates?within=0.001&where=label%3Dhome")
        page.click("text=all texts")
        assert "where" not in page.url
        expect(page.locator("#results")).to_be_visible()


def test_larger_distances_are_offered_until_texts_are_near(page: Page) -> None:
    page.goto("/duplicates?within=0.4")
    expect(page.locator(".groups > li")).to_have_count(0)
    for _ in range(6):
        if page.locator(".groups > li").count():
            break
        larger = page.locator("#results p a").nth(2)
        within = larger.inner_text()
        larger.click()
        assert page.input_value("#within") == within
    assert page.locator(".groups > li").count()


def test_costs_say_which_way_is_better(page: Page) -> None:
    page.goto("/?q=mains+plug+gets+hot&rank=wmd%2B0.5*cover%2Bbm25")
    hit = page.locator(".hit").first
    expect(hit.locator(".value")).to_have_attribute("title", "smaller is better")
    expect(hit.locator(".costs")).to_contain_text("costs, smaller is better:")
    numbers = [float(one) for one in hit.locator(".parts dd").all_inner_texts()]
    total = float(hit.locator(".value").inner_text().split()[-1])
    assert sum(numbers) == pytest.approx(total, abs=2e-4)
    hit.locator(".thread summary").first.click()
    expect(hit.locator(".flows .costs").first).to_contain_text("costs, smaller is better: distance")


def test_near_duplicates_are_grouped(page: Page) -> None:
    page.goto("/")
    page.click("text=Near duplicates")
    page.fill("#within", "1.2")
    page.click("text=Find groups")
    expect(page.locator(".groups")).to_contain_text("Late train")
    page.click(".groups >> text=Late bus")
    expect(page.locator(".compared")).to_contain_text("document t2")


CLAIM = "The plug gets hot. A dog and a train on 3 May 2020. It is not cheap cheese."
SOURCE = "Plug of the heater, warm and hot. On 2020-05-03 the bus was late, the cat slept. Cheap cheese was there."


@pytest.mark.parametrize("scripts", [True, False])
def test_texts_are_compared_side_by_side(browser: Browser, site: PagesServer, *, scripts: bool) -> None:
    with opened(browser, site, java_script_enabled=scripts) as page:
        page.goto("/compare")
        page.fill("#claim", CLAIM)
        page.fill("#source", SOURCE)
        page.fill("#tau", "0")
        page.click("form#compare button")
        expect(page.locator("#results .verdict")).to_contain_text("certified: nothing covers more")
        first, second = page.locator(".texts > div").nth(0), page.locator(".texts > div").nth(1)
        expect(first.locator("a.c").filter(has_text="3 May 2020")).to_have_count(1)
        expect(first.locator("mark.uncovered").filter(has_text="cheap")).to_have_attribute(
            "title", "the sources have this with the other polarity only"
        )
        counterpart = second.locator("a.c").filter(has_text="2020-05-03")
        before = counterpart.evaluate(_COLOUR)
        first.locator("a.c").filter(has_text="3 May 2020").click()
        expect(counterpart).to_have_id("s" + (counterpart.get_attribute("id") or "")[1:])
        assert page.url.endswith(f"#{counterpart.get_attribute('id')}")
        assert counterpart.evaluate(_COLOUR) != before
        expect(page.locator("#results .differences > li")).to_have_count(3)


_COLOUR = "(one) => getComputedStyle(one).backgroundColor"


def test_hovering_and_focus_light_up_the_counterpart(page: Page) -> None:
    page.goto("/compare")
    page.fill("#claim", CLAIM)
    page.fill("#source", SOURCE)
    page.click("form#compare button")
    first, second = page.locator(".texts > div").nth(0), page.locator(".texts > div").nth(1)
    counterpart = second.locator("a.c").filter(has_text="2020-05-03")
    first.locator("a.c").filter(has_text="3 May 2020").hover()
    expect(counterpart).to_have_class(re.compile(r"\blit\b"))
    page.mouse.move(1, 1)
    expect(counterpart).not_to_have_class(re.compile(r"\blit\b"))
    first.locator("a.c").filter(has_text="3 May 2020").focus()
    expect(counterpart).to_have_class(re.compile(r"\blit\b"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("versions", [False, True])
def test_axe_finds_no_violation_in_a_comparison(
    browser: Browser, site: PagesServer, scheme: Literal["light", "dark"], *, versions: bool
) -> None:
    with opened(browser, site, color_scheme=scheme) as page:
        page.goto("/compare")
        page.fill("#claim", CLAIM)
        page.fill("#source", f"Train. {SOURCE}")
        page.set_checked("#versions", versions)
        page.click("form#compare button")
        expect(page.locator(".beside .c").first).to_be_visible()
        report = Axe().run(page)
        assert report.violations_count == 0, report.generate_report()


def test_a_page_of_a_comparison_works_alone(browser: Browser, tmp_path: Path) -> None:
    texts = [Document(name, parts=(Part(text),)) for name, text in (("claim", CLAIM), ("source", SOURCE))]
    words = ["plug", "hot", "warm", "cheese", "cheap", "dog"]
    reranker = Reranker(Embedding.of(words, [[float(i), 0.0] for i in range(len(words))]))
    sources = {"source": texts[1]}
    (tmp_path / "e.html").write_text(evidence_page(reranker.evidence(texts[0], sources), texts[0], sources), "utf-8")
    changes = reranker.changes(texts[0], texts[1])
    (tmp_path / "c.html").write_text(changes_page(changes, texts[0], texts[1]), "utf-8")
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.on("request", lambda request: None if request.url.startswith("file:") else pytest.fail(request.url))
        for name, own in (("e.html", "3 May 2020"), ("c.html", "dog")):
            page.goto((tmp_path / name).as_uri())
            expect(page.locator(".beside .c").filter(has_text=own).first).to_be_visible()
        page.goto((tmp_path / "e.html").as_uri())
        counterpart = page.locator(".texts > div").nth(1).locator("a.c").filter(has_text="2020-05-03")
        before = counterpart.evaluate(_COLOUR)
        page.locator("a.c").filter(has_text="3 May 2020").hover()
        assert counterpart.evaluate(_COLOUR) != before
    finally:
        context.close()


@pytest.mark.parametrize("name", PAGES)
def test_texts_that_look_like_markup_are_text(page: Page, name: str) -> None:
    page.goto(PAGES[name])
    open_all(page)
    assert page.locator("img, main script, main style, [style]").count() == 0
    if name == "odd hits":
        assert f"{SCRIPT} wine" in page.locator(".hit h3").first.inner_text()
        assert IMAGE in page.locator(".hit .label").first.inner_text()
        assert IMAGE in page.locator(".hit .post").first.inner_text()


def test_the_main_search_works_without_scripts(browser: Browser, site: PagesServer) -> None:
    with opened(browser, site, java_script_enabled=False) as page:
        page.goto("/")
        page.fill("#q", QUERY)
        page.press("#q", "Enter")
        assert keys_of(page)[0] == "t1"
        page.locator(".hit summary").first.click()
        page.locator(".hit >> text=Open it as a page").first.click()
        expect(page.locator(".diagram")).to_be_visible()
        page.click("text=Why is it a hit, or not?")
        expect(page.locator("#why summary").first).to_have_text("It is a hit")
        page.goto("/")
        page.click("text=A whole thread as the query")
        page.fill("#title", "Late train")
        page.click("text=Find similar threads")
        page.locator(".hit h3 a").first.click()
        expect(page.locator(".diagram")).to_be_visible()


def test_everything_is_reached_by_keyboard(page: Page) -> None:
    page.goto("/")
    expect(page.locator("#q")).to_be_focused()
    for _ in range(5):
        page.keyboard.press("Shift+Tab")
    expect(page.locator(".skip")).to_be_focused()
    expect(page.locator(".skip")).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type(QUERY)
    page.keyboard.press("Enter")
    expect(page.locator("#results")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator(".how summary").first).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#results > .near summary")).to_be_focused()
    page.keyboard.press("Enter")  # what the notes of marked words say to those who can point at them
    expect(page.locator("#results > .near li").first).to_have_text(re.compile("^cheese near mains, cost "))
    page.keyboard.press("Tab")
    expect(page.locator(".hit h3 a").first).to_be_focused()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".hit .diagram")).to_be_visible()
    page.keyboard.press("Tab")  # open it as a page
    page.keyboard.press("Tab")
    expect(page.locator(".hit summary", has_text="The flows as a table").first).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator(".hit table")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(".hit .scroll")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".hit table")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator(".hit .diagram")).to_be_hidden()
    expect(page.locator(".hit > details > summary").first).to_be_focused()


def no_page_is_wider(page: Page) -> None:
    """Check that no page has to be moved sideways, also with everything open."""
    for name, path in PAGES.items():
        page.goto(path)
        open_all(page)
        wide, shown = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert wide <= shown, name


def test_pages_fit_a_narrow_screen(browser: Browser, site: PagesServer) -> None:
    with opened(browser, site) as page:
        page.set_viewport_size({"width": 320, "height": 640})
        no_page_is_wider(page)


def test_long_titles_and_keys_are_cut(browser: Browser, tmp_path: Path) -> None:
    long, key = ("plug socket mains heater " * 40).strip(), "k" * 900
    threads = [thread(key, long, "The plug gets hot."), thread("k2", long, "The plug gets hot.")]
    place = {"forum": make_forum(tmp_path, threads)}
    with pages_server(place) as server, opened(browser, server) as page:
        page.set_viewport_size({"width": 390, "height": 800})
        for path in ("/?q=plug", "/duplicates?within=1", f"/collections/forum/view/{key}?q=plug"):
            page.goto(path)
            for code in page.locator(f"[title={key}]").all():
                assert code.evaluate(_HEIGHT) < 80
            assert key not in page.locator("body").inner_text()
        expect(page.locator("h1")).to_have_text(re.compile("^plug socket .{80,150}…$"))
        assert page.locator("h1").evaluate(_HEIGHT) < 260
        expect(page.locator(".post h3").first).to_have_text("Title")  # the whole of it
        page.goto("/?q=plug")
        for title in page.locator(".hit h3 a").all():
            expect(title).to_have_attribute("title", long)
            assert title.evaluate(_HEIGHT) < 300  # the whole of it takes more than 1,000
        page.goto("/duplicates?within=1")
        assert {one.get_attribute("title") for one in page.locator(".groups a").all()} == {long}


def test_each_text_has_the_direction_of_its_script(browser: Browser, tmp_path: Path) -> None:
    arabic = thread("ar", "القابس plug ساخن", "هذا الْكِتَابُ عن plug.")
    english = thread("en", "The plug gets hot", "A plug, and كتاب.")
    direction = "(all) => all.map((one) => getComputedStyle(one).direction)"
    with pages_server({"forum": make_forum(tmp_path, [arabic, english])}) as server:  # noqa: SIM117
        with opened(browser, server) as page:
            page.goto(f"/?q={quote('الكتاب plug')}&rank=wmd%2Bbm25")
            assert page.locator("#q").evaluate_all(direction) == ["rtl"]
            for key, expected in (("ar", "rtl"), ("en", "ltr")):
                hit = page.locator(".hit", has=page.locator(".facts code", has_text=re.compile(f"^{key}$")))
                assert hit.locator("h3, .snippet").evaluate_all(direction) == [expected] * 2
                assert hit.locator(".value, .facts").evaluate_all(direction) == ["ltr"] * 2
            marks = page.locator(".hit .snippet mark").all_inner_texts()
            assert sorted(marks) == ["plug", "plug", "الْكِتَابُ"]
            for key, expected in (("ar", "rtl"), ("en", "ltr")):
                page.goto(f"/collections/forum/view/{key}?q={quote('الكتاب plug')}")
                assert page.locator("h1, .post .text").evaluate_all(direction) == [expected] * 2
    hits = tuple(
        Hit(key, 1.0, title, None, text, snippet_highlights=marks)
        for key, title, text, marks in (
            ("ar", "كتاب", "هذا الْكِتَابُ", (Highlight(0, 4, 14, "الكتاب", "الكتاب", 0.0),)),
            ("en", "Book", "A book", ()),
        )
    )
    with browser.new_page() as page:
        page.set_content(ranking_page([("الكتاب", Ranking(hits, certified=True, scope="collection"))]))
        assert page.locator("h1, h3, .snippet").evaluate_all(direction) == ["rtl"] * 3 + ["ltr"] * 2
        assert page.locator("mark").all_inner_texts() == ["الْكِتَابُ"]


@pytest.mark.parametrize("width", [320, 390])
def test_the_steps_of_a_legend_stay_on_their_lines(browser: Browser, site: PagesServer, width: int) -> None:
    with opened(browser, site) as page:
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(PAGES["document"])
        expect(page.locator(".legend .step")).to_have_count(5)
        for step in page.locator(".legend .step").all():
            assert step.evaluate("(one) => one.getClientRects().length") == 1
            assert step.evaluate(_HEIGHT) < 30


def test_pages_of_files_fit_a_narrow_screen(browser: Browser, tmp_path: Path) -> None:
    """The words of flows are within the diagram, and neither page has to be moved sideways."""
    flows = tuple(Flow("plug", f"{word}-of-a-sentence-without-end", 0.25, 1.2345, 0.25) for word in "abcd")
    hits = (Hit("k", 1.2345, "plug " * 20, snippet="plug " * 99, flows=flows, metadata={"x" * 60: "y" * 90}),)
    ranking = Ranking(hits, certified=True, scope="collection", ranked_by="wmd:mu=20,weights=tfidf+0.5*cover")
    pages = (
        ranking_page([("plug", ranking)]),
        explanation_page(Explanation(1.2345, flows), "plug", "title"),
    )
    with browser.new_context(viewport={"width": 320, "height": 640}) as context:
        page = context.new_page()
        for number, text in enumerate(pages):
            path = tmp_path / f"{number}.html"
            path.write_text(text, encoding="utf-8")
            page.goto(path.as_uri())
            open_all(page)
            wide, shown = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert wide <= shown
            expect(page.locator(".diagram .word")).to_have_count(5)
            outer = page.locator(".diagram").evaluate(_BOX)
            for left, _, right, _ in page.locator(".diagram .word").evaluate_all(f"(all) => all.map({_BOX})"):
                assert left >= outer[0] - 0.5
                assert right <= outer[2] + 0.5


def test_pages_fit_a_window_at_double_size(browser: Browser, site: PagesServer) -> None:
    with opened(browser, site, device_scale_factor=2) as page:  # a window of 1280 pixels at 200 %
        page.set_viewport_size({"width": 640, "height": 512})
        no_page_is_wider(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_violation(browser: Browser, site: PagesServer, name: str, scheme: str) -> None:
    with opened(browser, site, color_scheme=scheme, reduced_motion="reduce") as page:
        page.goto(PAGES[name])
        open_all(page)
        found = Axe().run(page, options={"resultTypes": ["violations"]})
        assert found.violations_count == 0, found.generate_report()
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper))) > 384) == (scheme == "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_of_flows_and_marks_are_seen_and_none_is_red(
    browser: Browser, site: PagesServer, scheme: str
) -> None:
    with opened(browser, site, color_scheme=scheme) as page:
        page.goto(PAGES["document"])
        of = "([name, property]) => getComputedStyle(document.querySelector(name))[property]"
        paper, ink = (_rgb(page.evaluate(of, ["body", one])) for one in ("backgroundColor", "color"))
        for step in range(5):
            fill = _rgb(page.evaluate(of, [f".legend .step{step}", "fill"]))
            opacity = float(page.evaluate(of, [f".legend .step{step}", "opacity"]))
            drawn = [one * opacity + other * (1 - opacity) for one, other in zip(fill, paper, strict=True)]
            assert _contrast(drawn, paper) >= 3
            assert fill[0] < max(fill) or max(fill) - min(fill) < 12
        for name in ("mark:not(.moved)", "mark.moved"):
            assert _contrast(ink, _rgb(page.evaluate(of, [name, "backgroundColor"]))) >= 4.5


def _rgb(colour: str) -> list[float]:
    return [float(one) for one in re.findall(r"[\d.]+", colour)[:3]]


def _contrast(one: list[float], other: list[float]) -> float:
    """Return the contrast of two colours by WCAG 2.2."""
    parts = [
        [c / 12.92 if (c := v / 255) <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for v in x] for x in (one, other)
    ]
    dark, light = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in parts)
    return (light + 0.05) / (dark + 0.05)


def test_a_print_has_the_results_alone(page: Page) -> None:
    page.goto(PAGES["hits"])
    page.emulate_media(media="print")
    expect(page.locator("form").first).to_be_hidden()
    expect(page.locator("nav")).to_be_hidden()
    expect(page.locator(".hit").first).to_be_visible()
    assert page.pdf()[:5] == b"%PDF-"


def test_nothing_moves_for_those_who_want_no_motion(browser: Browser, site: PagesServer) -> None:
    with opened(browser, site, reduced_motion="reduce") as page:
        page.goto(PAGES["document"])
        assert page.evaluate("getComputedStyle(document.querySelector('.band')).transitionDuration") == "0s"


def test_scripts_and_styles_of_others_are_refused(browser: Browser, site: PagesServer) -> None:
    context = browser.new_context(base_url=site.url)
    try:
        page = context.new_page()
        page.goto("/")
        page.evaluate("""() => {
            const script = document.createElement("script");
            script.textContent = "document.title = 'broken'";
            document.body.append(script);
        }""")
        assert page.title() == "moverank"
    finally:
        context.close()
