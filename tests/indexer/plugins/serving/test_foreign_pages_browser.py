"""Pages of other origins in a browser: named ones use the server with a token, others start no work."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `server` is not installed")
pytest.importorskip("uvicorn", reason="the extra `server` is not installed")
pytest.importorskip("playwright", reason="the extra `browser` is not installed")

from playwright.sync_api import Browser, Page, expect

from tests.indexer.plugins.serving.running import RunningServer

TOKEN = "a-token-of-24-characters"  # noqa: S105 - of the test

FETCH = """async ([url, token]) => {
  const headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"};
  const body = JSON.stringify({query: "dog", k: 1});
  try {
    const answer = await fetch(url, {method: "POST", headers, body});
    return [answer.status, await answer.json()];
  } catch (error) { return error.name; }
}"""


class _Foreign(BaseHTTPRequestHandler):
    """Serves pages that use another server, whose address is the query string."""

    def do_GET(self) -> None:
        kind, _, server = self.path.lstrip("/").partition("?")
        content = {
            "link": f'<a href="{server}/?q=dog">a search</a>',
            "images": f'<img src="{server}/?q=dog"><img src="{server}/collections/pets/search?q=cat">'
            f'<iframe src="{server}/?q=bird"></iframe>',
            "redirect": f'<script>location.href = "{server}/?q=dog"</script>',
        }.get(kind, "")
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(f"<!doctype html><title>foreign</title>{content}".encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def _served() -> Iterator[int]:
    """Serve foreign pages; yields the port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Foreign) as foreign:
        thread = threading.Thread(target=foreign.serve_forever)
        thread.start()
        yield foreign.server_address[1]
        foreign.shutdown()
        thread.join()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    page.set_default_timeout(30_000)
    yield page
    page.close()


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with _served() as port:
        yield port


# Both hosts are this machine: localhost is another site than 127.0.0.1, and another port another origin of one site.
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_page_of_a_named_origin_uses_the_server_with_a_token(
    page: Page, pets: Path, tmp_path: Path, port: int, host: str
) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    options = ("--token-file", tmp_path / "token", "--cors", f"http://{host}:{port}")
    running = RunningServer("-i", pets, *options, log=tmp_path / "log")
    url = f"{running.url}/collections/pets/search"
    try:
        page.goto(f"http://{host}:{port}/")
        status, found = page.evaluate(FETCH, [url, TOKEN])
        assert (status, found["hits"][0]["key"]) == (200, "t1")
        status, problem = page.evaluate(FETCH, [url, "wrong"])  # the page may read what is wrong
        assert (status, problem["detail"]) == (401, "a token is needed: send it as `Authorization: Bearer TOKEN`")
        with _served() as other:
            page.goto(f"http://{host}:{other}/")
            assert page.evaluate(FETCH, [url, TOKEN]) == "TypeError"
    finally:
        running.stop()


def _counts(server: RunningServer) -> tuple[int, int]:
    """Return how many pages and searches were answered, and how many requests refused."""
    text = server.ask("/metrics").body.decode()
    answered = re.findall(r'_requests_total{method="GET",route="[^"]*(?:/|search)",status="200"} (\d+)', text)
    return sum(map(int, answered)), sum(map(int, re.findall(r'_requests_total{.*status="403"} (\d+)', text)))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_images_frames_and_redirects_of_another_page_search_nothing(
    page: Page, server: RunningServer, port: int, host: str
) -> None:
    answered, refused = _counts(server)
    page.goto(f"http://{host}:{port}/images?{server.url}", wait_until="load")
    assert _counts(server) == (answered, refused + 3)
    page.goto(f"http://{host}:{port}/redirect?{server.url}")
    page.wait_for_url(f"{server.url}/**")
    expect(page.get_by_text("pages of another origin may not use this server")).to_be_visible()
    assert _counts(server) == (answered, refused + 4)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_link_on_another_page_opens_a_search(page: Page, server: RunningServer, port: int, host: str) -> None:
    page.goto(f"http://{host}:{port}/link?{server.url}")
    page.get_by_role("link", name="a search").click()
    page.wait_for_url(f"{server.url}/**")
    expect(page.get_by_text("the dog sleeps near the cat").first).to_be_visible()
