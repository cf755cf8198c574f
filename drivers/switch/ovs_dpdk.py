"""Open vSwitch with DPDK, of the run's own: learns, and forwards between NICs in polling threads.

It is `ovs-netdev` with other ports: each NIC is one by the packet socket device of DPDK, without hugepages.
The first CPU of the DUT polls them all.
"""

from __future__ import annotations

from typing import Any, ClassVar

from bmwg.drivers.api.protocols import Missing, Node
from bmwg.drivers.api.switches import SwitchDriver
from bmwg.drivers.network import ovs_obstacle
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.switch.ovs_netdev import OvsNetdev


class OvsDpdk(OvsNetdev):
    """A bridge of DPDK's ports; its polling thread never sleeps while a trial runs."""

    name: ClassVar[str] = "ovs-dpdk"
    forwards_in: ClassVar[str] = "a polling thread of the switch, by DPDK's packet sockets at the NICs"

    def probe(self, node: Node) -> Missing | None:
        """Return what is missing: the programs, or a CPU that nobody else's switch polls."""
        if found := super().probe(node):
            return found
        taken = node.call(
            ovs_obstacle.obstacle, cpus=self._config["pmd_cpus"], hugepages_2mi=0, owner=self._owner
        )
        return Missing.told(taken)

    def _settings_of(self, bed: Bed) -> dict[str, Any]:
        cpus = list(bed.testbed.dut.cpus)
        return {
            "cpus": cpus,
            "pmd_cpus": cpus[:1],
            "nic_port": "af_packet",
            "rx_queues": 1,
            "hugepages_2mi": 0,
            "hugepages_1gi": 0,
            "pmd_max_sleep_us": 0,
            "emc_insert_inverse_probability": 100,
            "smc": False,
        }


_: type[SwitchDriver] = OvsDpdk
