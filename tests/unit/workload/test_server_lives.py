"""What makes a server a router when it boots, and addresses of servers that stand at once."""

from __future__ import annotations

import ipaddress

from bmwg.drivers.paths.addresses import OUTER, host, of_router
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.workload.server_lives import ServerLives, router_script
from bmwg.methodology.kinds.acts.experiments import hostings

SIDES = tuple(
    Side(
        number=number,
        tester_interface=f"p{number}",
        tester_mac=f"02:00:00:00:00:0{number}",
        node="dut1",
        nic="n",
    )
    for number in (0, 1)
)


def test_each_server_has_an_address_of_its_own_in_each_segment() -> None:
    for side in (0, 1):
        found = [ipaddress.ip_interface(of_router(side, at)) for at in range(20)]
        assert str(found[0]) == OUTER[side].router_ipv4
        assert len({one.ip for one in found}) == 20
        assert {one.network for one in found} == {ipaddress.ip_interface(OUTER[side].far_ipv4).network}
        assert ipaddress.ip_interface(OUTER[side].far_ipv4).ip not in {one.ip for one in found}


def test_the_script_is_one_that_the_image_runs_and_forwards_last() -> None:
    lines = router_script(SIDES, 1).splitlines()
    assert lines[0] == "#!/bin/sh"
    assert f"ip addr add {of_router(0, 1)} dev eth1" in lines  # eth0 is the management network's
    assert f"ip addr add {of_router(1, 1)} dev eth2" in lines
    far = host(OUTER[1].far_ipv4)
    assert f"ip neigh replace {far} lladdr 02:00:00:00:00:01 dev eth2 nud permanent" in lines
    assert lines[-1] == "echo 1 > /proc/sys/net/ipv4/ip_forward"


def test_servers_live_on_the_path_of_servers() -> None:
    assert {hostings()[path] for path in ServerLives.paths} == {"vm"}
