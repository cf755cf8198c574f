"""What a page of somebody else may hold: text, tables, drawings, style; nothing that acts or reaches out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

OWN_SCRIPTS: frozenset[str] = frozenset()  # texts of the toolkit's own scripts, octet for octet; it has none
_ACTIVE = frozenset(  # of these only a script that is our own is let through
    {
        "applet",
        "audio",
        "base",
        "embed",
        "form",
        "frame",
        "frameset",
        "iframe",
        "img",
        "link",
        "math",
        "noscript",
        "object",
        "portal",
        "script",
        "source",
        "template",
        "track",
        "video",
    }
)
_ADDRESSES = frozenset(
    {
        "action",
        "background",
        "cite",
        "data",
        "formaction",
        "href",
        "longdesc",
        "manifest",
        "ping",
        "poster",
        "profile",
        "src",
        "srcdoc",
        "srcset",
        "usemap",
        "xlink:href",
    }
)
_URL = re.compile(r"url\s*\(\s*['\"]?\s*([^'\")\s]*)|(@import)|(expression\s*\()|(\\)", re.IGNORECASE)
_MAX_SHOWN = 20


def acts(text: str) -> list[str]:
    """Return what in a page of HTML is a script or reaches outside of the page, in words; each kind once."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return list(dict.fromkeys(reader.found))[:_MAX_SHOWN]


class _Reader(HTMLParser):
    """Collects; what a browser would read otherwise than this parser is refused as what it looks like."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._script: list[str] | None = None
        self._style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script" and not attrs and OWN_SCRIPTS:
            self._script = []
        elif tag in _ACTIVE:
            self.found.append(f"the element {tag}")
        self._style = tag == "style"
        for name, value in attrs:
            self.found += list(_of_attribute(tag, name, value or ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self._style = False

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self._script is not None:
            if "".join(self._script) not in OWN_SCRIPTS:
                self.found.append("the element script")
            self._script = None
        self._style = False

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self._script.append(data)
        elif self._style:
            self.found += list(_of_style(data))

    def handle_comment(self, data: str) -> None:
        if "[if" in data.lower() or ">" in data:
            self.found.append("a comment that a browser may read as elements")

    def unknown_decl(self, data: str) -> None:
        self.found.append("a section of foreign markup")


def _of_attribute(tag: str, name: str, value: str) -> Iterator[str]:
    if name.startswith("on"):
        yield f"the attribute {name}"
    elif name in _ADDRESSES and not value.startswith("#"):
        yield f"an address in {name}"
    elif name == "http-equiv" and value.lower() not in ("content-type", "content-security-policy"):
        yield f"http-equiv {value[:40]}"
    elif name in ("attributename", "to", "values", "from") and tag in ("animate", "set"):
        yield f"the element {tag}"
    elif not name.startswith("xmlns") and _URL.search(value):
        yield from _of_style(value)


def _of_style(text: str) -> Iterator[str]:
    for match in _URL.finditer(text):
        if match.group(1) is None or not match.group(1).startswith("#"):
            yield "an address in a style"
