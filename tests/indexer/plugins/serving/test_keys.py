"""Every key is that of one document: read, opened, replaced and removed by paths, by a parameter, and in a browser."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import pytest

from tests.indexer.plugins.serving.conftest import make_collection
from tests.indexer.plugins.serving.running import RunningServer
from tests.waiting import HUNG

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PETS = "/collections/pets"
KEYS = [
    "a",
    "a\n",
    "a\n\n",
    "\n",
    "a\nb",
    "\na",
    ".",
    "..",
    "a/../b",
    "x/",
    "/x",
    "a?b",
    "a#b",
    "a%2Fb",
    "a\rb",
    " s ",
    "é",
]


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server of a collection that has a document with each of the keys."""
    folder = tmp_path_factory.mktemp("keyed")
    running = RunningServer("-i", make_collection(folder), log=folder / "log")
    lines = "".join(json.dumps({"id": key, "text": "red wine"}) + "\n" for key in KEYS)
    assert running.ask(f"{PETS}/documents", lines.encode()).json["added"] == len(KEYS)
    running.wait_for("pets", 2)
    yield running
    assert running.stop() == 0
    assert "Traceback" not in running.log.read_text()


def addresses(key: str) -> tuple[str, str]:
    """Return the two addresses of a document."""
    return f"{PETS}/documents/{quote(key, safe='')}", f"{PETS}/document?key={quote(key, safe='')}"


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_that_of_its_document(keyed: RunningServer, key: str) -> None:
    for address in addresses(key):
        assert keyed.ask(address).json["key"] == key
        replaced = keyed.ask(address, {"text": f"blue river {address}"}, method="PUT").json
        assert (replaced["added"], replaced["updated"]) == (0, 1)
    for page in (f"view/{quote(key, safe='')}", f"view?key={quote(key, safe='')}"):
        reply = keyed.ask(f"{PETS}/{page}")
        assert reply.status == 200
        assert b"blue river" in reply.body or b"red wine" in reply.body


def test_the_address_of_a_missing_key_changes_no_other_document(writable: RunningServer) -> None:
    for key in ("t1%0A", "t1%0A%0A", "t1%0D", "%0At1", "t1%20"):
        for path in (f"documents/{key}", f"document?key={key}"):
            assert writable.ask(f"{PETS}/{path}").status == 404
            assert writable.ask(f"{PETS}/{path}", method="DELETE").status == 404
        for path in (f"view/{key}", f"view?key={key}"):
            assert writable.ask(f"{PETS}/{path}").status == 404
    assert writable.ask("/collections/pets%0A").status == 404
    assert writable.ask("/collections/pets%0A/documents/t1", method="DELETE").status == 404
    assert writable.ask(f"{PETS}/documents/t1").status == 200
    put = writable.ask(f"{PETS}/documents/t1%0A", {"text": "red wine"}, method="PUT")
    assert (put.json["added"], put.json["updated"]) == (1, 0)
    assert writable.ask(f"{PETS}/document?key=t1%0A", method="DELETE").json["removed"] == 1
    writable.wait_for("pets", 3)
    assert writable.ask(f"{PETS}/documents/t1").json["title"] == "Dog and cat"


def test_every_key_is_removed(tmp_path: Path) -> None:
    running = RunningServer("-i", make_collection(tmp_path), log=tmp_path / "log")
    for place in (0, 1):
        lines = "".join(json.dumps({"id": key, "text": "red wine"}) + "\n" for key in KEYS)
        assert running.ask(f"{PETS}/documents", lines.encode()).json["added"] == len(KEYS)
        removed = [running.ask(addresses(key)[place], method="DELETE").json["removed"] for key in KEYS]
        assert removed == [1] * len(KEYS)
    assert running.stop() == 0


def test_a_document_whose_key_ends_as_an_upload_does_takes_no_more_than_other_bodies(server: RunningServer) -> None:
    connection = HTTPConnection(urlsplit(server.url).netloc, timeout=HUNG)
    connection.putrequest("POST", f"{PETS}/view/a/documents")
    connection.putheader("Content-Length", str(9 * 2**20))
    connection.endheaders()
    with connection.getresponse() as answer:
        assert answer.status == 413
        assert b"at most 8,388,608 bytes" in answer.read()
    connection.close()


def test_hits_and_near_documents_of_every_key_open_in_a_browser(keyed: RunningServer, browser: "Browser") -> None:
    for key in KEYS:  # equal texts: others state something else
        revision = keyed.ask(addresses(key)[1], {"text": "red wine"}, method="PUT").json["revision"]
    keyed.wait_for("pets", revision)
    pages = ("/?q=red+wine+blue+river&k=40", "/duplicates?within=9")
    page = browser.new_page(base_url=keyed.url, java_script_enabled=False)
    for start in pages:
        page.goto(start)
        links = page.locator("a[href*='/view']").evaluate_all("all => all.map(one => [one.href, one.outerHTML])")
        assert len({href.split("?q=")[0] for href, _ in links}) >= len(KEYS)
        opened = [page.goto(href).status for href, _ in links]
        assert opened == [200] * len(links)
    for key in (".", "a/../b", "a\n"):
        page.goto(f"{PETS}/view?key={quote(key, safe='')}")
        link = page.get_by_role("link", name="JSON").get_attribute("href")
        answer = page.goto(link)
        assert answer.json()["key"] == key
    page.close()
