"""The three runs of each rule that takes the submitter's word on device and laboratory."""

from __future__ import annotations

from runs import QUALIFIED, TPUT, Tester, run
from three import Three

from bmwg.drivers.api.protocols import TesterPort, TrafficLimits
from bmwg.methodology.errors import TestbedError


class NoPorts(Tester):
    """Cannot take its ports, so that nothing is sent in the whole run."""

    def attach(self, ports: tuple[TesterPort, ...], /) -> TrafficLimits:
        raise TestbedError("TST-01", "tester ports", expected="ports", found="none")


def saying(**laboratory: str):
    """Return a run whose submission says this of the laboratory."""
    return run(TPUT, submission={"laboratory": laboratory})


NOTHING_SENT = run(QUALIFIED, tester=NoPorts)
CASES: dict[str, Three] = {
    **{
        row: Three(
            met=saying(special_capabilities="none"),
            not_met=saying(special_capabilities="a path for test frames alone"),
            not_applicable=NOTHING_SENT,
        )
        for row in ("RFC8172-5-04", "RFC8204-6-02")
    },
    **{
        row: Three(
            met=saying(other_security="none"),
            not_met=saying(other_security="mitigations are off in the laboratory"),
            not_applicable=NOTHING_SENT,
        )
        for row in ("RFC8172-5-05", "RFC8204-6-03", "CINF08-7-04")
    },
}
NOT_YET: frozenset[str] = frozenset()
