"""The three runs of each rule of RFC 6815 and of the security sections of other documents."""

from __future__ import annotations

from foreign import header, said
from runs import TPUT, run
from three import Three

GOOD = run(TPUT)


def _elsewhere(data):
    """Let the tester's ports be on a host that the run did not make."""
    data["testbed"]["nodes"].update(tester={"kind": "ssh"})


def _declared(**laboratory):
    document = {"schema": "submission/1.0", "organization": "x", "contact": ["x"]}
    product = {"name": "x", "version": "1"}
    return run(TPUT, submission=document | {"product": product, "laboratory": laboratory})


def _cabled_to_a_host(data):
    """Let the tester's first port be cabled to a host that the run did not make."""
    data["testbed"]["nodes"].update(dut1={"kind": "ssh"})


def _on_nothing(data):
    """Let the tester's ports be on a node that nobody names."""
    data["testbed"]["links"] = []


CABLED = [said(GOOD, header(change)) for change in (_cabled_to_a_host, _on_nothing)]
ELSEWHERE = said(GOOD, header(_elsewhere))
ISOLATED = ("RFC8172-5-01", "RFC8204-6-01", "CINF08-7-01", "RFC6815-7-01", "RFC6815-5-02")


def _before_the_first_trial(data, journal, platform):
    """Let the run have been cut off before its first trial."""
    journal.clear()
    data["outcomes"] = []


NONE = said(GOOD, _before_the_first_trial)
CASES: dict[str, Three] = {
    **{row: Three(met=GOOD, not_met=ELSEWHERE, not_applicable=NONE) for row in ISOLATED},
    "RFC6815-7-02": Three(
        met=_declared(special_capabilities="none"),
        not_met=_declared(special_capabilities="a mode for benchmarks"),
        not_applicable=NONE,
    ),
    "RFC6815-7-03": Three(
        met=_declared(other_security="none"),
        not_met=_declared(other_security="no firewall in the laboratory"),
        not_applicable=NONE,
    ),
}
NOT_YET: frozenset[str] = frozenset()
