"""The pages in a browser: with and without scripts, by keyboard alone, narrow, in the dark, and checked by axe-core."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi", reason="the extra `server` is not installed")
pytest.importorskip("uvicorn", reason="the extra `server` is not installed")
pytest.importorskip("playwright", reason="the extra `browser` is not installed")
pytest.importorskip("axe_playwright_python", reason="the extra `browser` is not installed")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from moverank.indexer.formatters.html_page import explanation_page, ranking_page
from moverank.rerank.distance.explain import Explanation
from moverank.rerank.ranking import Flow, Hit, Ranking
from tests.indexer.server.pages_world import (
    IMAGE,
    SCRIPT,
    PagesServer,
    make_forum,
    make_reports,
    pages_server,
)

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
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
    "why not": "/collections/forum/why?q=plug&key=t4&k=1",
    "odd why not": f"/collections/forum/why?q=plug&key={KEY}&k=2",
    "thread": "/thread",
    "duplicates": "/duplicates?within=9",
    "measurements": "/measurements?file=threads.json",
    "api": "/docs",
}

Open = Callable[..., Any]

_BOX = "(one) => { const box = one.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]; }"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagesServer]:
    directory = tmp_path_factory.mktemp("site")
    forum = make_forum(directory)
    other = make_forum(tmp_path_factory.mktemp("other"))
    with pages_server({"forum": forum, "other": other}, make_reports(directory / "reports")) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium, as Debian's package `chromium`")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


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
    expect(page.locator(".hit mark").first).to_have_text("plug")
    expect(page.locator(".verdict")).to_contain_text("Certified: no other document is nearer")
    expect(page.locator("#status")).to_contain_text("7 hits. Certified")
    assert page.evaluate("window.same && document.activeElement.id") == "results"
    assert "q=mains+plug+gets+hot" in page.url
    assert page.title() == f"{QUERY} \N{EN DASH} moverank"
    page.reload()
    expect(page.locator("#results-title")).to_have_text("7 hits")
    page.go_back()
    expect(page.locator(".intro")).to_be_visible()


def test_a_filter_and_a_ranking_are_chosen(page: Page) -> None:
    page.goto("/")
    page.fill("#q", QUERY)
    page.select_option("#rank", "wmd")
    page.click("text=Filters and more options")
    page.fill("#where", "year>=2019\nlabel=travel")
    page.press("#q", "Enter")
    expect(page.locator("#results-title")).to_have_text("2 hits")
    expect(page.locator(".how summary")).to_have_text("Ranked by the distance, smaller is nearer")
    expect(page.locator(".how code")).to_be_hidden()
    page.click(".how summary")
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
    expect(page.locator("h1")).to_have_text("Why not this one?")
    expect(page.locator(".verdict")).to_contain_text("The value of hit 1 is")
    expect(page.locator("tbody tr")).to_have_count(7)
    page.click("text=Back to the hits")
    expect(page.locator("#results-title")).to_have_text("1 hit")
    page.click(".hit >> text=Similar")
    expect(page.locator(".compared")).to_contain_text("Nearest to")
    assert keys_of(page)
    page.click(".compared a")
    expect(page.locator("#posts-title")).to_be_visible()


def test_a_pasted_thread_finds_similar_ones(page: Page) -> None:
    page.goto("/")
    page.click("text=Paste a thread")
    page.fill("#title", "Train")
    page.fill("#body", "The train was late.")
    page.fill("#comment1", "Take the bus.")
    page.click("text=Add an answer")
    expect(page.locator("#comment3")).to_be_focused()
    assert page.input_value("#body") == "The train was late."
    page.click("text=Find similar threads")
    assert set(keys_of(page)[:2]) == {"t2", "t3"}
    page.locator(".hit summary").first.click()
    expect(page.locator(".hit .diagram")).to_be_visible()
    page.fill("#key", "t4")
    page.click("text=Explain")
    expect(page.locator(".compared")).to_contain_text("the thread that you pasted")
    page.go_back()
    page.locator(".hit h3 button").first.click()
    expect(page.locator("#document .diagram")).to_be_visible()


def test_near_duplicates_are_grouped(page: Page) -> None:
    page.goto("/")
    page.click("text=Near duplicates")
    page.fill("#within", "1.2")
    page.click("text=Find groups")
    expect(page.locator(".groups")).to_contain_text("Late train")
    page.click(".groups >> text=Late bus")
    expect(page.locator(".compared")).to_contain_text("document t2")


def test_measurements_are_chosen(page: Page) -> None:
    page.goto("/measurements")
    page.select_option("#file", "threads.json")
    page.click("text=Show")
    page.select_option("#column", "p")
    page.click("text=Show")
    expect(page.locator("figcaption")).to_have_text("p")
    expect(page.locator("table")).to_contain_text(SCRIPT)


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
        expect(page.locator("h1")).to_have_text("It is a hit")
        page.goto("/thread")
        page.fill("#title", "Late train")
        page.click("text=Find similar threads")
        page.locator(".hit h3 button").first.click()
        expect(page.locator(".diagram")).to_be_visible()


def test_everything_is_reached_by_keyboard(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    expect(page.locator(".skip")).to_be_in_viewport()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type(QUERY)
    page.keyboard.press("Enter")
    expect(page.locator("#results")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator(".how summary")).to_be_focused()
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


def test_pages_of_files_fit_a_narrow_screen(browser: Browser, tmp_path: Path) -> None:
    """The words of flows are within the diagram, and neither page has to be moved sideways."""
    flows = tuple(Flow("plug", f"{word}-of-a-sentence-without-end", 0.25, 1.2345, 0.25) for word in "abcd")
    hits = (Hit("k", 1.2345, "plug " * 20, snippet="plug " * 99, flows=flows, metadata={"x" * 60: "y" * 90}),)
    ranking = Ranking(hits, certified=True, scope="collection", ranked_by="wmd:mu=20,weights=tfidf+0.5*cover")
    pages = ranking_page([("plug", ranking)], ()), explanation_page(Explanation(1.2345, flows), "plug", "title")
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
