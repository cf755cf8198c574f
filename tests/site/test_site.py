"""The built site (`tox -e site`): its links lead somewhere, and a browser fetches nothing from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(__file__).resolve().parents[2] / "build" / "site"
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
pytestmark = pytest.mark.skipif(
    not (SITE / "index.html").exists(), reason="no build/site: tox -e site makes it"
)


class Page(HTMLParser):
    """What a page links to and fetches, and the anchors that it has."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self._within_link = False
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if told.get("id"):
            self.anchors.add(str(told["id"]))
        self._within_link = tag == "a" or self._within_link
        if not self._within_link and "xref" in (told.get("class") or "").split():  # without a target
            self.links.append("a page that the site lacks")
        if tag == "a" and told.get("href"):
            self.links.append(str(told["href"]))
        if tag in FETCHED and told.get(FETCHED[tag]) and told.get("rel") not in ("canonical", "search"):
            self.fetched.append(str(told[FETCHED[tag]]))

    def handle_endtag(self, tag: str) -> None:
        self._within_link = self._within_link and tag != "a"


@pytest.fixture(scope="module")
def pages() -> dict[Path, Page]:
    return {file: Page(file) for file in SITE.rglob("*.html")}


def test_it_has_the_pages(pages: dict[Path, Page]) -> None:
    assert len(pages) > 60
    assert {"index.html", "docs/tutorial.html", "docs/errors.html"} <= {
        str(file.relative_to(SITE)) for file in pages
    }


def test_no_page_fetches_from_elsewhere(pages: dict[Path, Page]) -> None:
    found = {(str(file.relative_to(SITE)), url) for file, page in pages.items() for url in page.fetched}
    assert {one for one in found if urlsplit(one[1]).netloc} == set()
    styles = [file for file in SITE.rglob("*.css") if "url(http" in file.read_text(encoding="utf-8")]
    assert styles == []


def test_links_within_the_site_lead_somewhere(pages: dict[Path, Page]) -> None:
    broken = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.exists():
                broken.append(f"{file.relative_to(SITE)}: {link}")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                broken.append(f"{file.relative_to(SITE)}: no place {link}")
    assert broken == []
