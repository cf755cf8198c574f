"""VER-33 where the tester's ports are at vhost-user sockets: such a run may not call its medium veth."""

from types import SimpleNamespace

import pytest

from bmwg.reports.verify.physics import has_interfaces, medium_of_testbed

LINKS = [
    {"a": "tester/p0", "b": "dut1/vhost0", "kind": "vhost-user"},
    {"a": "dut1/vhost1", "b": "tester/p1", "kind": "vhost-user"},
]
BOTH = "veth and vhost-user"


def findings(kind, links, rate_bps=None):
    testbed = {"links": links, "tester": {"driver": "embedded", "io": "virtio_user", "ports": []}}
    medium = {"kind": kind, "line_rate_bps": rate_bps}
    if rate_bps is not None:
        testbed["medium"] = medium
    run = {"medium": medium, "testbed": testbed, "simulated": False}
    evidence = SimpleNamespace(run=run, of_frames=True, platform={})
    assert has_interfaces(evidence)  # counts of each port have to be there
    return list(medium_of_testbed.check(evidence))


@pytest.mark.parametrize(
    ("kind", "links"), [("vhost-user", LINKS), (BOTH, LINKS[:1]), ("veth", []), ("veth", "none")]
)
def test_the_medium_is_that_of_the_links(kind, links):
    assert findings(kind, links) == []


@pytest.mark.parametrize(
    ("kind", "links"),
    [("veth", LINKS), (BOTH, LINKS), ("vhost-user", LINKS[:1]), ("veth", LINKS[:1]), ("vhost-user", [])],
)
def test_another_name_is_a_finding(kind, links):
    assert len(findings(kind, links)) == 1


@pytest.mark.parametrize(("links", "wrong"), [(LINKS, 1), (LINKS[:1], 0)])  # the other port may be a NIC
def test_sockets_have_no_rate_whatever_the_testbed_declares(links, wrong):
    assert len(findings("ethernet", links, 10**9)) == wrong
