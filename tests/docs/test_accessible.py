"""Everybody can use every page of the built site, and none says a word to the console or to another host."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.accessible import barriers, findings
from tests.browser import NEEDS_BROWSER, Browser
from tests.helpers import ROOT
from tests.pages import DOCS

pytestmark = [pytest.mark.pages, NEEDS_BROWSER]
SITE = ROOT / "build" / "site"
PAGES = sorted(
    page.relative_to(DOCS).as_posix().replace("README.md", "index.md").replace(".md", ".html")
    for page in DOCS.rglob("*.md")
)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of the site."""
    assert SITE.exists(), f"{SITE.relative_to(ROOT)} is missing: run `make test-pages`, which builds it"
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.mark.parametrize("page", PAGES)
def test_everybody_can_use_a_page(page: str, address: str, browser: Browser) -> None:
    browser.messages.clear()
    browser.requests.clear()
    found = barriers(browser, lambda: browser.visit(address + page))
    assert not found, found
    assert browser.messages == []
    assert [url for url in browser.requests if not url.startswith((address, "data:"))] == []


def test_everybody_can_use_the_menus_in_dark_colours(address: str, browser: Browser) -> None:
    """They are the same on all pages, and a phone shows other ones."""
    browser.show(dark=True)
    browser.visit(f"{address}guides/why.html")
    assert browser.run("document.body.dataset.mdColorScheme") == "slate"
    assert findings(browser) == []


def test_every_page_of_the_site_was_looked_at() -> None:
    assert sorted(page.relative_to(SITE).as_posix() for page in SITE.rglob("*.html")) == sorted(["404.html", *PAGES])
