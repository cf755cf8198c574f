"""The test cases of all suites as data: id, what is measured, on which paths and with which traffic.

Ids are stable: append, never renumber. One answer (a metric on a cell) may be asked for by several tests; it
is measured once, under the first that asks.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.records import Direction, FrameFormat

CONTAINERIZED, RFC2544 = "containerized", "rfc2544"
SUITES = (CONTAINERIZED, RFC2544)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One test case. `measurement` is a name of `measurements.registry`.

    `path` narrows it to one path of its suite's plan. Directions, formats and flows replace the profile's.
    With `imix` frames of several sizes take turns, as the profile's genome says, in place of its sizes.
    `function` is what forwards in place of the plan's function on paths through a pod: a restarted container
    interrupts nothing when the kernel forwards for it.
    """

    test_id: str
    suite: str
    measurement: str
    path: str = ""
    directions: tuple[Direction, ...] = ()
    frame_formats: tuple[FrameFormat, ...] = ()
    flows: tuple[int, ...] = ()
    imix: bool = False
    function: str = ""


_PATHS = ("wire", "node", "pvp", "p2p", "p2p-underlay", "p2p-vxlan")
_LADDER = (("CN-TPUT-1", "throughput"), ("CN-LAT-1", "latency"))
_MANY_FLOWS = 256  # RFC2544-12-02, as many as there are destination networks


def _containerized() -> tuple[Case, ...]:
    return tuple(
        Case(test_id=f"{stem}.{number}", suite=CONTAINERIZED, measurement=measurement, path=path)
        for stem, measurement in _LADDER
        for number, path in enumerate(_PATHS, start=1)
    )


def _rfc2544(test_id: str, measurement: str, **traffic: Any) -> Case:
    return Case(test_id=test_id, suite=RFC2544, measurement=measurement, **traffic)


CASES: tuple[Case, ...] = (
    *_containerized(),
    _rfc2544("R2544-TPUT-1.1", "throughput"),
    _rfc2544("R2544-TPUT-1.2", "throughput", directions=(Direction.BOTH,)),
    _rfc2544("R2544-TPUT-1.3", "throughput", flows=(_MANY_FLOWS,)),
    _rfc2544("R2544-TPUT-1.4", "throughput", frame_formats=(FrameFormat.IPV6_UDP,)),
    _rfc2544("R2544-TPUT-2.1", "tst009"),
    _rfc2544("R2544-TPUT-3.1", "mlrsearch"),
    _rfc2544("R2544-IMIX-1.1", "imix", imix=True),
    _rfc2544("R2544-IMIX-2.1", "imix_tst009", imix=True),
    _rfc2544("R2544-IMIX-3.1", "imix_mlrsearch", imix=True),
    _rfc2544("R2544-LAT-1.1", "latency"),
    _rfc2544("R2544-LAT-2.1", "tagged_latency"),
    _rfc2544("R2544-LAT-3.1", "latency_rfc8219"),
    _rfc2544("R2544-PDV-1.1", "delay_variation"),
    _rfc2544("R2544-IPDV-1.1", "ipdv"),
    _rfc2544("R2544-LOSS-1.1", "frame_loss"),
    _rfc2544("R2544-SOAK-1.1", "soak"),
    _rfc2544("R2544-B2B-1.1", "back_to_back"),
    _rfc2544("R2544-RECOV-1.1", "recovery"),
    _rfc2544("R2544-RESET-1.1", "reset_link"),
    _rfc2544("R2544-RESET-1.2", "reset_vswitch"),
    _rfc2544("R2544-RESET-1.3", "reset_container", function="testpmd"),
    _rfc2544("R2544-MOD-1.1", "modifier_broadcast"),
    _rfc2544("R2544-MOD-1.2", "modifier_management"),
    _rfc2544("R2544-MOD-1.3", "modifier_route_updates"),
    _rfc2544("R2544-MOD-1.4", "modifier_filters_1"),
    _rfc2544("R2544-MOD-1.5", "modifier_filters_25"),
)
_BY_ID = {case.test_id: case for case in CASES}


def tests_in(suites: Collection[str]) -> frozenset[str]:
    """Return the ids of all tests of some suites."""
    return frozenset(one.test_id for one in CASES if one.suite in suites)


def case(test_id: str) -> Case | None:
    """Return the case of a test id."""
    return _BY_ID.get(test_id)


def cases_of(suite: str, test_ids: Collection[str]) -> tuple[Case, ...]:
    """Return those cases of a suite whose tests were asked for, in their order."""
    return tuple(one for one in CASES if one.suite == suite and one.test_id in test_ids)


def owner(measurement: str, path: str, test_ids: Collection[str] = ()) -> str | None:
    """Return the test under which a measurement on a path is recorded: asked for, else the first there is.

    Only cases with the profile's own traffic own what nobody asked for.
    """
    able = [one for one in CASES if one.measurement == measurement and one.path in ("", path)]
    chosen = [one for one in able if one.test_id in test_ids and not _special(one)]
    chosen += [one for one in able if not _special(one)]
    return chosen[0].test_id if chosen else None


def tests_of(measurement: str, path: str) -> frozenset[str]:
    """Return every test that may ask for a measurement on a path."""
    return frozenset(
        one.test_id for one in CASES if one.measurement == measurement and one.path in ("", path)
    )


def _special(one: Case) -> bool:
    return bool(one.directions or one.frame_formats or one.flows or one.imix)


DEFAULT_TESTS = tests_in((CONTAINERIZED,))
