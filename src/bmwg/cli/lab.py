"""`bmwg lab check` and `bmwg lab sketch`: whether a testbed file's ports and cables are there; a drawing.

`check` looks at each end of each cable of this machine (NIC, driver, firmware, IOMMU group, hugepages, what
uses it), sends probe frames of its own between ports that `lab_ports` names, and then asks `bmwg doctor`. It
binds nothing.
Ids: LAB-01 a cable is not as the file says, LAB-02 a drawing cannot be written.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.record.findings import Weight


def add_parser(verbs: Any) -> None:
    """Add the verbs to the command."""
    parser = verbs.add_parser("lab", help="ports and cables of a testbed file", description=__doc__)
    under = parser.add_subparsers(dest="of_lab", required=True, metavar="what")
    check = under.add_parser("check", help="what is there, and what to mend, in order")
    sketch = under.add_parser("sketch", help="the topology as text, or as SVG")
    for one in (check, sketch):
        one.add_argument("--testbed", type=Path, help="testbed file (default: the embedded testbed)")
    sketch.add_argument("--svg", type=Path, metavar="FILE", help="write a drawing to this file")
    check.set_defaults(handler=handle_check)
    sketch.set_defaults(handler=handle_sketch)


def handle_check(chosen: argparse.Namespace) -> int:
    """Print what was found, with what to mend; 1 when there is something to mend."""
    from bmwg.drivers.record.doctor import examine
    from bmwg.resources.lab.check import check

    testbed = load_testbed(chosen.testbed)
    found = check(testbed)
    for one in found:
        word = "ok  " if one.sound else f"MEND  {one.error_id}"
        print(f"{word}  {one.about}: {one.told}")
        if one.mend:
            print(f"      hint: {one.mend}")
    findings = examine(testbed)
    for finding in findings:
        print(finding)
    wrong = sum(not one.sound for one in found)
    blocked = sum(finding.weight is Weight.BLOCKS for finding in findings)
    print(f"{len(found)} looked at, {wrong} to mend; the doctor has {len(findings)}, {blocked} in the way")
    return 1 if wrong or blocked else 0


def handle_sketch(chosen: argparse.Namespace) -> int:
    """Print the topology, or write its drawing."""
    from bmwg.resources.lab.sketch import as_svg, as_text

    testbed = load_testbed(chosen.testbed)
    if chosen.svg is None:
        print(as_text(testbed))
        return 0
    try:
        chosen.svg.write_text(as_svg(testbed), encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            "LAB-02", f"{chosen.svg} cannot be written", found=error.strerror or str(error)
        ) from error
    print(chosen.svg)
    return 0
