"""The provider of a testbed's machines, entered while a run has the testbed open.

Ids: PATH-01 the testbed file lacks what a path needs.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, cast

from bmwg.drivers import registry
from bmwg.drivers.api.instance import Place, VmDriver
from bmwg.drivers.api.machines import MachineProvider
from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.testbed.file import SIMULATED
from bmwg.methodology.errors import ConfigError

if TYPE_CHECKING:
    from bmwg.drivers.paths.bed import Bed
    from bmwg.drivers.undo.ledger import Ledger


def machines_of(bed: Bed, stack: ExitStack) -> MachineProvider | Missing | None:
    """Return the entered provider of machines that forward, or what it lacks; None where none is named.

    The machines' host is the node that both tester ports are cabled to. `stack` ends what was entered.
    Raises what entering the provider raises.
    """
    driver = bed.machines_driver
    if not driver or bed.testbed.tester.driver == SIMULATED:
        return None
    left, right = bed.sides()
    node = bed.require_here(left.node)
    place = Place(
        client_interface=left.nic,
        server_interface=right.nic,
        token=bed.token,
        owner=bed.owner,
        run_dir=str(bed.state_dir),
        vms=VmDriver(driver=driver),
        cabled=(left.nic, right.nic),
        cpus=bed.testbed.dut.cpus,
        hosts=_hosts(bed, node),
    )
    ledger = cast("Ledger", bed.undo)  # a run's undo log is its ledger
    provider = registry.provider(driver, node=node, place=place, ledger=ledger, token=bed.token)
    if not provider.forwards:
        return Missing(
            what=f"machines of {driver} that forward",
            reason="this provider gives a machine one interface, to which its node routes",
            mend="vms: {driver: openstack} in the testbed file",
        )
    return provider.probe() or stack.enter_context(provider)


def _hosts(bed: Bed, cabled: NamespaceNode) -> tuple[NamespaceNode, ...]:
    """Return the nodes that the testbed file makes machines' hosts; none where it names none."""
    names = bed.testbed.data["vms"].get("hosts", ())
    if names and cabled.name not in names:
        raise ConfigError(
            "PATH-01",
            f"vms.hosts of the testbed file {bed.testbed.file}",
            expected=f"{cabled.name} among them, to which the tester is cabled",
            found=", ".join(names),
        )
    return tuple(bed.require_here(name) for name in names)
