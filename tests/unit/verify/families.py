"""Every lie that the key's owner can tell, as one list of families: for the tests and for the campaign.

A family starts from an honest run, tells its lie by a seed, and makes a bundle that its owner signs. Nothing
is broken in it but what the lie says; `rules` are those of which one refuses it, or `named` stands on the
first lines (before what was proven is listed), where an honest run could look so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import honest
import liar
import liar_http
import liar_kinds
import liar_loads
import liar_machine
import liar_source

from bmwg.cli.verify import lines

_SORTED = ("proven from these files alone:", "only stated by who made them:", "not checked:")
BROKEN = {"STORE-01", "VER-01", "VER-02", "VER-20", "VER-21"}  # what a liar with the key leaves whole
_UNCHECKED = "NOT CHECKED, do not open, may say and do anything: "
_PAGE = "<!DOCTYPE html><html><head><title>r</title></head><body><p>4 Mfps</p>{}</body></html>"
_ACTIVE = (
    "<script>alert(1)</script>",
    '<img src="https://example.net/x.png">',
    '<svg onload="alert(1)"></svg>',
    '<iframe src="//example.net"></iframe>',
    '<style>@import "//example.net";</style>',
    '<style/><img src="//example.net/x.png">',
    "<svg><style>p { background: url&#40;//example.net&#41; }</style></svg>",
    "<p style=\"background: image-set('//example.net' 1x)\">",
    "<textarea><script>alert(1)</script>",
    "<noembed><script>alert(1)</script>",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One way to lie. `tell` changes the folder and returns what `liar.signed` takes beside it."""

    name: str
    base: str
    tell: Callable[[Path, int], dict[str, Any]]
    rules: frozenset[str] = frozenset()
    named: str = ""

    def caught(self, verified: Any) -> bool:
        """Whether a verification refuses or names the lie, and for what it is."""
        found = {finding.rule_id for finding in verified.findings}
        if found & BROKEN:
            return False
        if self.rules:
            return bool(found & self.rules) and verified.exit_code != 0
        said = lines(verified, clauses=False)
        sorted_out = next((n for n, line in enumerate(said) if line in _SORTED), len(said))
        return any(self.named in line for line in said[:sorted_out])


def _lies(
    module: Any, base: str, lie: Any, of: str = "", rules: Collection[str] = (), named: str = ""
) -> Family:
    """Return the family of one of a module's lies, told as that module tells them."""

    def tell(folder: Path, seed: int) -> dict[str, Any]:
        module.told(folder, lie, seed)
        return {}

    return Family(name=f"{of}{lie.__name__}", base=base, tell=tell, rules=frozenset(rules), named=named)


def _active_page(folder: Path, seed: int) -> dict[str, Any]:
    return {"report": _PAGE.format(_ACTIVE[seed % len(_ACTIVE)])}


def _other_figures(folder: Path, seed: int) -> dict[str, Any]:
    return {"report": _PAGE.format(f"<p>{seed} Mfps</p>")}


def _other_robot(folder: Path, seed: int) -> dict[str, Any]:
    robot = folder.with_name(f"{folder.name}-output.xml")
    robot.write_text(f"<robot>{liar.read(folder).run['run_id']}: {seed} Mfps</robot>", encoding="utf-8")
    return {"robot": robot}


_PHYSICS = frozenset({"VER-12", "VER-30", "VER-31", "VER-32", "VER-33", "VER-34", "VER-35"})
FAMILIES: tuple[Family, ...] = (
    *(_lies(liar, base, lie, rules=_PHYSICS) for lie, base in liar.PHYSICS.items()),
    *(_lies(liar, base, lie, rules={"VER-37"}) for lie, base in liar.PLANS.items()),
    *(_lies(liar, base, lie, rules={"VER-40"}) for lie, base in liar.TURNS.items()),
    *(_lies(liar, "ladder", lie, named=said) for lie, said in liar.STRANGERS.items()),
    *(_lies(liar, base, lie, named=said) for lie, (base, said) in liar.TIMES.items()),
    *(
        _lies(liar_source, base, lie, rules={one})
        for lie, (base, one) in (*liar_source.REFUSED.items(), *liar_machine.REFUSED.items())
    ),
    *(
        _lies(liar_source, base, lie, named=said)
        for told in (liar_source.ASKED, liar_source.SAID, liar_machine.NAMED)
        for lie, (base, said) in told.items()
    ),
    *(_lies(liar_http, "http", lie, "requests: ", rules=r) for lie, r in liar_http.REFUSED.items()),
    *(_lies(liar_http, "http", lie, "requests: ", named=said) for lie, said in liar_http.ASKED.items()),
    *(_lies(liar_kinds, at, lie, "kinds: ", rules={one}) for lie, (at, one) in liar_kinds.REFUSED.items()),
    *(_lies(liar_kinds, at, lie, "kinds: ", named=said) for lie, (at, said) in liar_kinds.NAMED.items()),
    *(_lies(liar_loads, at, lie, "loads: ", rules={one}) for lie, (at, one) in liar_loads.REFUSED.items()),
    Family(name="page that acts", base="ladder", tell=_active_page, named=f"{_UNCHECKED}report.html"),
    Family(
        name="page with other figures", base="ladder", tell=_other_figures, named=f"{_UNCHECKED}report.html"
    ),
    Family(name="another output.xml", base="ladder", tell=_other_robot, named=f"{_UNCHECKED}output.xml"),
)


def told(family: Family, seed: int, *, place: Path, to: Path, key: Path) -> Path:
    """Return a bundle that tells a family's lie by a seed, signed by the owner of `key`."""
    to.mkdir(parents=True)
    folder = honest.copied(place, family.base, to)
    return liar.signed(folder, to / "lie.tar", key, **family.tell(folder, seed))
