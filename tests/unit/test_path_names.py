"""A path's name stands in its own module, in its test case and in profiles: nothing else may list paths."""

import re
from pathlib import Path

from bmwg.drivers import registry
from bmwg.methodology.records import WIRE

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("methodology", "drivers", "resources", "reports", "src/bmwg/cli")
# A path stands in its own module, where a kind of load numbers the tests of its suites, where a chain is
# written down, whose axis has the path's name, and where a document's own figures are of certain paths.
COMMON = (WIRE, "node", "chain", "switch")  # words of the records as well
ALLOWED = (
    "methodology/suites.py",
    "methodology/kinds/acts/experiments.py",
    "methodology/kinds/streams/profile.py",
    "methodology/kinds/streams/orders.py",
    "methodology/cells/chains.py",
    "methodology/cells/parallel.py",
    "drivers/paths/",
)


def test_no_module_outside_its_room_names_a_path():
    names = "|".join(re.escape(name) for name in registry.names(registry.PATH) if name not in COMMON)
    assert "pvp" in names
    named = re.compile(rf"""["']({names})["']""")
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for room in ROOMS
        for file in sorted((ROOT / room).rglob("*.py"))
        if not str(file.relative_to(ROOT)).startswith(ALLOWED)
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if named.search(line) or f'path == "{WIRE}"' in line or f'path != "{WIRE}"' in line
    ]
    assert found == []


def test_each_path_has_words_of_its_own():
    kinds = registry.paths()
    assert {"wire", "node", "pvp", "p2p", "p2p-underlay", "p2p-vxlan"} <= set(kinds)
    assert len({kinds[name].scenario for name in kinds}) == len(kinds)
    assert all(kinds[name].name == name for name in kinds)
