"""How soon a network policy is in force: named, and refused while no network option enforces one."""

from __future__ import annotations

from bmwg.drivers.api import Missing
from bmwg.drivers.workload.of_acts import ActsWorkload, OfActs
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec


class Policies(OfActs):
    """Says that the option of its cell enforces no policy."""

    def probe(self) -> Missing | None:
        """Return that no option enforces policies: they all ignore them."""
        return Missing(
            what=f"policy programming of network option {self._ground.cell.network}",
            reason="it enforces no NetworkPolicy, and no other option that this toolkit knows does",
            mend="a CNI that enforces policies, and a workload for it (docs/lifecycle.md)",
        )

    def run(self, spec: ActsSpec, /) -> ActsResult:
        """Raise TestbedError PATH-02: what is missing was not asked for."""
        raise TestbedError(
            "PATH-02",
            "a network policy",
            expected="an option that enforces it",
            found=self._ground.cell.network,
        )


_: type[ActsWorkload] = Policies
