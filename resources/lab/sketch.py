"""A testbed file's topology as text and as SVG: places as boxes, ports in them, links between ports."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape

from bmwg.drivers.testbed.file import TESTER, Endpoint, NodeKind, Testbed
from bmwg.drivers.testbed.medium import medium_of

_MARGIN, _WIDTH, _ROW, _GAP = 20, 240, 26, 220  # of boxes, in units of the drawing
_HEAD = 2 * _ROW
_STYLE = (
    "text{font:13px sans-serif;fill:#1c1c1c}.t{font-weight:bold}"
    "rect{fill:#fff;stroke:#1c1c1c}path{fill:none;stroke:#1c1c1c;stroke-width:2}.veth{stroke-dasharray:6 4}"
    ".vhost-user{stroke-dasharray:2 4}"
)


def places_of(testbed: Testbed) -> dict[str, str]:
    """Return each place with what it is: the tester first, then the nodes of the file, in its order."""
    tester, dut = testbed.tester, testbed.dut
    on = f", host {tester.host.ssh}" if tester.host else ""
    words = f"{tester.driver}, io {'/'.join(dict.fromkeys(tester.ios))}, CPU {_listed(tester.cpus)}{on}"
    found = {TESTER: words}
    for node in testbed.nodes:
        where = (
            f"host {node.ssh}" if node.kind is NodeKind.SSH else f"namespace, DUT on CPU {_listed(dut.cpus)}"
        )
        found[node.name] = where
    return found


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


def as_text(testbed: Testbed) -> str:
    """Return the topology as lines: a place, then each link once, from the first place that it touches."""
    lines = [f"testbed {testbed.name}: {_medium(testbed)}"]
    told: set[int] = set()
    for name, what in places_of(testbed).items():
        lines += ["", f"{name} ({what})"]
        for number, link in enumerate(testbed.links):
            for mine, other in ((link.a, link.b), (link.b, link.a)):
                if mine.node == name and number not in told:
                    told.add(number)
                    lines.append(f"  {mine.interface:<16} ---{link.kind}---  {other}")
    return "\n".join(lines)


def _medium(testbed: Testbed) -> str:
    medium = medium_of(testbed)
    return f"{medium.kind}, {medium.line_rate_bps} bit/s" if medium.line_rate_bps else medium.kind


def as_svg(testbed: Testbed) -> str:
    """Return the topology as one SVG document, the tester left of the nodes; no script, no reference."""
    places = places_of(testbed)
    ports: dict[str, list[Endpoint]] = {name: [] for name in places}
    for end in dict.fromkeys(end for link in testbed.links for end in (link.a, link.b)):
        ports[end.node].append(end)
    at: dict[Endpoint, tuple[int, int]] = {}
    boxes, top = [], {0: _MARGIN, 1: _MARGIN}
    for name, what in places.items():
        column = 0 if name == TESTER else 1
        x, y = _MARGIN + column * (_WIDTH + _GAP), top[column]
        height = _HEAD + _ROW * len(ports[name]) + _ROW // 2
        boxes.append(_box(x, y, height, name, what))
        for row, end in enumerate(ports[name]):
            line = y + _HEAD + _ROW * row + _ROW // 2
            at[end] = (x + (_WIDTH if column == 0 else 0), line)
            anchor, inset = ("end", _WIDTH - 8) if column == 0 else ("start", 8)
            boxes.append(
                f'<text x="{x + inset}" y="{line + 4}" text-anchor="{anchor}">{escape(end.interface)}</text>'
            )
        top[column] = y + height + _MARGIN
    lines = [_line(at, link.a, link.b, link.kind) for link in testbed.links]
    width, height = 2 * (_WIDTH + _MARGIN) + _GAP, max(top.values())
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    title = f"<title>{escape(testbed.name)}: {escape(_medium(testbed))}</title><style>{_STYLE}</style>"
    return "\n".join([head, title, *boxes, *lines, "</svg>", ""])


def _box(x: int, y: int, height: int, name: str, what: str) -> str:
    return (
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{height}" rx="4"/>'
        f'<text class="t" x="{x + 8}" y="{y + 20}">{escape(name)}</text>'
        f'<text x="{x + 8}" y="{y + 38}">{escape(what)}</text>'
    )


def _line(at: Mapping[Endpoint, tuple[int, int]], a: Endpoint, b: Endpoint, kind: str) -> str:
    """A straight line between two columns; a bow where both ends are in one."""
    (x1, y1), (x2, y2) = at[a], at[b]
    if x1 != x2:
        way = f"M{x1} {y1}L{x2} {y2}"
    else:
        bow = x1 + (_GAP // 4 if x1 < _WIDTH + _GAP else -(_GAP // 4))
        way = f"M{x1} {y1}C{bow} {y1} {bow} {y2} {x2} {y2}"
    return f'<path class="{kind}" d="{way}"><title>{escape(f"{a} - {b}, {kind}")}</title></path>'
