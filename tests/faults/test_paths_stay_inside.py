"""Every path that can be built here is closed: nothing of it leads out, and it stands as it was built."""

import pytest
from tests.needs import needs_cni

from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.watch.isolation import require_closed, require_own_ports
from bmwg.drivers.watch.liveness import Liveness
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles import load_profile

pytestmark = [pytest.mark.root, needs_cni]


def test_every_deployment_of_the_default_plan_is_closed(tmp_path):
    testbed = load_testbed()
    networks = planning.Networks.of(testbed.data["networks"])
    plan = planning.cells(load_profile("quick"), networks)
    cells = {planned.deployment: planned.cell for planned in plan if not planned.missing}.values()
    ledger = Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path / "index")
    closed = []
    with open_bed(testbed, ledger, tmp_path) as bed:
        for cell in cells:
            driver = path_driver(cell, bed)
            if driver.probe() is not None:
                continue
            with driver.deploy() as deployment:
                require_own_ports(deployment.ports, testbed.lab_ports)
                require_closed(bed)
                assert Liveness(bed).fault() is None
                closed.append(cell.path)
    assert {"wire", "node", "pvp", "p2p", "p2p-underlay", "p2p-vxlan", "chain"} == set(closed)
