"""The field's folklore as checks: `examine` holds a record and a testbed file against what is known to go
wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bmwg.drivers.platform_record.collect import collect
from bmwg.drivers.platform_record.doctor import cpus, kernel, network, privileges
from bmwg.drivers.platform_record.doctor.scene import Scene
from bmwg.drivers.platform_record.source import LocalSource
from bmwg.drivers.platform_record.values import Source
from bmwg.drivers.testbed.file import Testbed, parse_testbed
from bmwg.methodology.record.findings import Finding, Weight

CHECKS: tuple[Callable[[Scene], Iterator[Finding]], ...] = (
    *cpus.CHECKS,
    *network.CHECKS,
    *kernel.CHECKS,
    *privileges.CHECKS,
)


def examine(
    testbed: Testbed | None = None,
    record: Mapping[str, Any] | None = None,
    source: Source | None = None,
) -> list[Finding]:
    """All findings, by weight and id. Takes a record of this machine when none is given; changes nothing.

    A check that breaks off is itself a finding (DOC-00): silence would read as health.
    """
    if testbed is not None and testbed.tester.host is not None:
        testbed = None  # nothing of it is on this machine
    scene = Scene(record or collect(), testbed, source or LocalSource())
    found: list[Finding] = []
    for check in CHECKS:
        try:
            found.extend(check(scene))
        except Exception as error:  # what it looks at comes from outside
            found.append(
                Finding(
                    finding_id="DOC-00",
                    weight=Weight.NOTE,
                    what=f"the check `{check.__name__}` could not look: {type(error).__name__}: {error}",
                    breaks="what it looks for may be there",
                    mend="report it with the output of `bmwg record`",
                )
            )
    return by_weight(found)


def by_weight(found: Iterable[Finding]) -> list[Finding]:
    """Findings in the order in which they are shown: what blocks first, then by id."""
    order = list(Weight)
    return sorted(found, key=lambda finding: (order.index(finding.weight), finding.finding_id, finding.what))


def examine_here(*, testbed: str = "") -> list[dict[str, str]]:
    """Node function: all findings on the node's machine, as data.

    `testbed` is the text of a testbed file whose tester is on it; empty where none is to be held against it.
    """
    found = parse_testbed(testbed, Path("testbed.yaml")).at_the_tester if testbed else None
    return [finding.as_json() for finding in examine(found)]
