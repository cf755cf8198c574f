"""What a report consists of: sections yield these blocks, and each form is one writer of them.

The functions make blocks of whatever a run holds: each text passes `plain`. No block holds the markup of a
form, so each writer escapes for its own form alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from bmwg.reports.render.text import NONE, plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Words within a text: `role` is how they look, `target` the page of ours that they lead to."""

    text: str
    role: str = ""
    target: str = ""


class Rich(str):
    """A text of which parts look otherwise; a form without looks takes it as the string that it is."""

    __slots__ = ("parts",)
    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Self:
        """Join the parts."""
        made = super().__new__(cls, "".join(part.text for part in parts))
        made.parts = parts
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A title; level 1 is the document's."""

    level: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A paragraph; `lead` for the first one of a page."""

    text: str
    lead: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """What a reader has to know before any number."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """A list of texts."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table; `head` is empty where the first column names the rows."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Lines that are kept as they are."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What a reader opens on demand."""

    summary: str
    inside: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """What a figure shows already: a page folds it, a form without figures shows it."""

    summary: str
    inside: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Blocks that stand together, by a class of the style sheet."""

    name: str
    inside: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A plot, by its file beside the report; its numbers stand in a table as well."""

    file: str
    title: str
    caption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The titles of all sections, where a form links to them; `links`: titles and files of pages beside."""

    links: tuple[tuple[str, str], ...] = ()


Block = Heading | Paragraph | Banner | Items | Grid | Code | Fold | Repeat | Group | Figure | Contents


def parts(text: str) -> tuple[Part, ...]:
    """Return the parts of any text."""
    return text.parts if isinstance(text, Rich) else (Part(text=text),)


def flat(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks for a form that has neither groups nor links."""
    for block in blocks:
        if isinstance(block, (Group, Repeat)):
            yield from flat(block.inside)
        elif not isinstance(block, Contents):
            yield block


def role(name: str, value: object) -> Rich:
    """Return a value in one of the page's own roles (see `rst.ROLES`)."""
    return Rich(Part(text=plain(value) or NONE, role=name))


def link(value: object, target: str) -> Rich:
    """Return a value that leads to a page of ours."""
    return Rich(Part(text=plain(value) or NONE, target=target))


def words(value: object) -> str:
    """Return a value as clean text that says something."""
    return value if isinstance(value, Rich) else plain(value) or NONE


def title(text: object, level: int = 1) -> list[Block]:
    """Return the title of the document (level 0), or of a section of level 1 or 2."""
    return [Heading(level=level + 1, text=words(text))]


def paragraph(text: object, *, lead: bool = False) -> list[Block]:
    """Return a paragraph."""
    return [Paragraph(text=words(text), lead=lead)]


def banner(kind: str, text: object) -> list[Block]:
    """Return a sentence that stands out; `kind` is one of the style sheet's."""
    return [Banner(kind=kind, text=words(text))]


def items(texts: Iterable[object]) -> list[Block]:
    """Return a list."""
    return [Items(texts=tuple(map(words, texts)))]


def table(head: Sequence[object], rows: Iterable[Sequence[object]], caption: str = "") -> list[Block]:
    """Return a table; nothing when there is no row."""
    cells = tuple(tuple(map(words, row)) for row in rows)
    return [Grid(caption=plain(caption), head=tuple(map(words, head)), rows=cells)] if cells else []


def pairs(rows: Iterable[tuple[object, object]], caption: str = "") -> list[Block]:
    """Return a table of names and values."""
    return [Grid(caption=plain(caption), head=(), rows=tuple((words(a), words(b)) for a, b in rows))]


def code(lines: Iterable[object]) -> list[Block]:
    """Return lines that are kept as they are."""
    return [Code(text="\n".join(map(plain, lines)))]


def fold(summary: object, body: Iterable[Block]) -> list[Block]:
    """Return blocks that the reader opens; a form without that shows them open, or leaves them out."""
    return [Fold(summary=words(summary), inside=tuple(body))]
