"""Screenshots of the pages of a running server: wide and narrow, in light and in dark.

    python tests/benchmarks/screenshots.py http://localhost:8080/ /tmp/pages --query "mains plug gets hot"
    python tests/benchmarks/screenshots.py demo indexer/manual

The second line makes the pictures of the page `server` from the collections of `moverank demo`, which it makes and
serves itself. Both need the extra `browser`, and Chromium.
"""

import argparse
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, urljoin

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.indexer.plugins.serving.running import RunningServer

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run")
SIZES = {"wide": (1100, 900), "narrow": (320, 700)}


def main() -> None:
    """Make the screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--query", default="mains plug gets hot")
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        if arguments.url == "demo":
            _pictures(browser, arguments.directory)
            browser.close()
            return
        for scheme in ("light", "dark"):
            for size, (width, height) in SIZES.items():
                context = browser.new_context(
                    color_scheme="dark" if scheme == "dark" else "light", viewport={"width": width, "height": height}
                )
                page = context.new_page()
                for name in _visited(page, arguments.url, arguments.query):
                    path = arguments.directory / f"{name}-{size}-{scheme}.png"
                    page.screenshot(path=path, full_page=True)
                    sys.stdout.write(f"{path}\n")
                context.close()
        browser.close()


def _pictures(browser: Browser, directory: Path) -> None:
    """Make the pictures of the page `server`: hits, and the flows of the first one."""
    with TemporaryDirectory() as name:
        demo = Path(name) / "demo"
        subprocess.run(
            [sys.executable, "-m", "moverank", "demo", "--directory", str(demo)], check=True, stdout=subprocess.DEVNULL
        )
        server = RunningServer("-i", demo / "docstrings.index", log=Path(name) / "log")
        try:
            page = browser.new_context(color_scheme="light", viewport={"width": 900, "height": 820}).new_page()
            page.goto(urljoin(server.url, f"/?q={quote('wrap a paragraph')}&k=3&rank=wmd"))
            _save(page.screenshot(), directory / "hits.png")
            page.click(".hit .thread summary")
            page.wait_for_selector(".hit .diagram")
            _save(page.locator(".hit .diagram").first.screenshot(), directory / "flows.png")
        finally:
            server.stop(signal.SIGTERM)


def _save(picture: bytes, path: Path) -> None:
    path.write_bytes(picture)
    sys.stdout.write(f"{path}: {len(picture):,} bytes\n")


def _visited(page: Page, url: str, query: str) -> Iterator[str]:
    """Open one page after another, and yield its name."""
    page.goto(url)
    yield "start"
    page.goto(urljoin(url, f"/?q={quote(query)}&k=5"))
    yield "hits"
    page.click(".hit .thread summary")
    page.wait_for_selector(".hit .diagram")
    yield "opened"
    page.goto(urljoin(url, page.locator(".hit h3 a").first.get_attribute("href") or ""))
    yield "document"
    page.go_back()
    page.fill("#key", page.locator(".hit .facts code").last.inner_text())
    page.click(".why button")
    yield "why-not"
    page.goto(urljoin(url, "/"))
    page.click("text=A whole thread as the query")
    yield "thread"
    page.click("nav >> text=Near duplicates")
    page.fill("#within", "0.6")
    page.click("text=Find groups")
    page.wait_for_selector("#results, .problem")
    yield "duplicates"
    page.goto(urljoin(url, "/?q=zzzzqqq&k=x"))
    yield "error"


if __name__ == "__main__":
    main()
