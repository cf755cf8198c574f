"""`bmwg lab`: whether a testbed file's ports and cables are there, a first file of a lab, a drawing.

`check` looks at each host over SSH (reached, same commit, clock), at each end of each cable (NIC, driver,
firmware, IOMMU group, hugepages, what uses it), sends probe frames of its own between these ports, and then
asks `bmwg doctor`, on each host too. It binds nothing.
`init` sends such frames between ports that it is told, and writes a testbed file with the cables it finds.
Ids: LAB-01 a cable is not as the file says, LAB-02 a drawing cannot be written, LAB-03 clocks too far apart.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bmwg.cli import as_json
from bmwg.drivers.testbed.file import TESTER, load_testbed
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.record.findings import Weight


def add_parser(verbs: Any) -> None:
    """Add the verbs to the command."""
    parser = verbs.add_parser("lab", help="ports and cables of a testbed file", description=__doc__)
    under = parser.add_subparsers(dest="of_lab", required=True, metavar="what")
    check = under.add_parser("check", help="what is there, and what to mend, in order")
    init = under.add_parser("init", help="write a first testbed file: cables as probe frames find them")
    init.add_argument("file", type=Path, help="the file to write; it must not be there")
    init.add_argument("--ports", required=True, help="the tester's interfaces, with commas")
    init.add_argument("--tester", default="", help="their host, user@host; without it they are here")
    init.add_argument("--dut", default="", help="the device's host, user@host; without it all ports are here")
    init.add_argument("--dut-ports", default="", help="interfaces of that host, with commas")
    init.add_argument("--python", default="python3", help="the interpreter there that has the toolkit")
    init.set_defaults(handler=handle_init)
    sketch = under.add_parser("sketch", help="the topology as text, or as SVG")
    for one in (check, sketch):
        one.add_argument("--testbed", type=Path, help="testbed file (default: the embedded testbed)")
    sketch.add_argument("--svg", type=Path, metavar="FILE", help="write a drawing to this file")
    as_json.add_argument(check)
    check.set_defaults(handler=handle_check)
    sketch.set_defaults(handler=handle_sketch)


def handle_check(chosen: argparse.Namespace) -> int:
    """Print what was found, with what to mend; 1 when there is something to mend."""
    from bmwg.drivers.platform_record.doctor import examine
    from bmwg.resources.lab.check import check

    testbed = load_testbed(chosen.testbed)
    looked = check(testbed)
    found = looked.checked
    findings = examine(testbed)
    there = [dict(one) for each in looked.of_hosts.values() for one in each]
    wrong = sum(not checked.sound for checked in found)
    weights = [str(finding.weight) for finding in findings] + [str(one["weight"]) for one in there]
    blocked = weights.count(str(Weight.BLOCKS))
    if chosen.json:
        told_here = [finding.as_json() for finding in findings]
        as_json.show("lab", {"checked": [asdict(one) for one in found], "findings": [*told_here, *there]})
        return 1 if wrong or blocked else 0
    for one in found:
        word = "ok  " if one.sound else f"MEND  {one.error_id}"
        print(f"{word}  {one.about}: {one.told}")
        if one.mend:
            print(f"      hint: {one.mend}")
    for finding in findings:
        print(finding)
    for told in there:
        print(
            f"{told['finding_id']}  {told['what']}\n          breaks: {told['breaks']}\nhint: {told['mend']}"
        )
    print(f"{len(found)} looked at, {wrong} to mend; the doctor has {len(weights)}, {blocked} in the way")
    return 1 if wrong or blocked else 0


def handle_init(chosen: argparse.Namespace) -> int:
    """Write a first testbed file and say what comes next."""
    from bmwg.drivers.testbed.hosts import HostSpec
    from bmwg.resources.lab.first_file import DUT, first_file

    if chosen.file.exists():
        raise ConfigError("LAB-02", f"{chosen.file}", expected="no file of that name", found="one")
    ports = tuple(port for port in chosen.dut_ports.split(",") if port)
    if bool(chosen.dut) != bool(ports):
        raise ConfigError("LAB-02", "--dut and --dut-ports", expected="both or none", found="one of them")
    host = HostSpec(name=DUT, ssh=chosen.dut, python=chosen.python, ports=ports, nodes=(DUT,))
    wanted = tuple(port for port in chosen.ports.split(",") if port)
    if chosen.tester and not chosen.dut:
        raise ConfigError(
            "LAB-02", "--tester", expected="--dut with it: the runner only steers", found="none"
        )
    tester = HostSpec(name=TESTER, ssh=chosen.tester, python=chosen.python, ports=wanted, nodes=(TESTER,))
    text = first_file(
        chosen.file.stem, wanted, host if chosen.dut else None, tester if chosen.tester else None
    )
    try:
        chosen.file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            "LAB-02", f"{chosen.file} cannot be written", found=error.strerror or str(error)
        ) from error
    load_testbed(chosen.file)  # what is written is one
    print(f"{chosen.file} written; next: bmwg lab check --testbed {chosen.file}")
    return 0


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
