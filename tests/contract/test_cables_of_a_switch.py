"""Four cables to a switch, of which two are crossed and one is missing: each of these is named."""

import pytest

from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.paths.cables import misled
from bmwg.drivers.ports import cabling
from bmwg.drivers.testbed.file import CABLE, Endpoint, LinkSpec

pytestmark = [pytest.mark.slow, pytest.mark.root]
JOINED = {0: 0, 1: 2, 2: 1}  # which port of the tester is at which NIC; the cable of the fourth ends nowhere


def test_crossed_and_missing_cables_among_four_are_named_by_their_ends():
    with NamespaceNode("tester") as tester, NamespaceNode("dut1") as dut, NamespaceNode("else") as other:
        for port, nic in JOINED.items():
            links.connect(tester, f"p{port}", dut, f"nic{nic}")
        links.connect(tester, "p3", other, "e0")
        links.connect(dut, "nic3", other, "e1")
        sides = ((tester, "p"), (dut, "nic"))
        places = [(node, {f"{at}{n}": f"{node.name}/{at}{n}" for n in range(4)}) for node, at in sides]
        arrived = cabling.heard(places, within_s=2.0)
    said = {
        number: misled(
            LinkSpec(
                a=Endpoint(node="tester", interface=f"p{number}"),
                b=Endpoint(node="dut1", interface=f"nic{number}"),
                kind=CABLE,
            ),
            arrived,
        )
        for number in range(4)
    }
    assert said[0] == ""
    assert "what tester/p1 sent was heard at dut1/nic2" in said[1]
    assert "what tester/p2 sent was heard at dut1/nic1" in said[2]
    assert said[3].count("nowhere") == 2
