"""Finds drivers by name; raises what `methodology.offers` raises.

Ids: DRIVER-04 a workload of another kind of load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmwg.methodology import offers
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import POD

if TYPE_CHECKING:
    from bmwg.drivers.api.instance import Place
    from bmwg.drivers.api.machines import MachineProvider
    from bmwg.drivers.api.protocols import JsonValue, NetworkDriver, Node, PodFunction, PodRuntime, UndoLog
    from bmwg.drivers.api.switches import SwitchDriver
    from bmwg.drivers.paths.bed import Bed
    from bmwg.drivers.testbed.file import NetworkSpec
    from bmwg.drivers.undo.ledger import Ledger

GROUP = "bmwg.drivers"
PATH, NETWORK, FUNCTION, RUNTIME, TRAFFIC = "path", "network", "function", "runtime", "traffic"
PROVIDER, WORKLOAD, HOSTING, ACTUATOR = "provider", "workload", "hosting", "actuator"
METER = "meter"
SWITCH = "switch"
PROXY = "proxy"


def names(kind: str) -> tuple[str, ...]:
    """List the names of all installed drivers of one kind (`traffic`, `network`, ...), sorted."""
    return offers.names(f"{GROUP}.{kind}")


def paths() -> Mapping[str, PathKind]:
    """Return the kinds of all installed paths by name; a driver is imported when its kind is asked for."""
    return _PathKinds()


class _PathKinds(Mapping[str, PathKind]):
    def __init__(self) -> None:
        self._names = names(PATH)

    def __getitem__(self, name: str) -> PathKind:
        if name not in self._names:
            raise KeyError(name)
        kind: PathKind = load(PATH, name).kind
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def network(
    spec: NetworkSpec, *, run_dir: Path, undo: UndoLog, where: str = "the testbed file"
) -> NetworkDriver:
    """Make the driver of a network option; `where` is the file that names it. Raises what `load` raises."""
    kind = load(NETWORK, spec.driver, where=f"{where}: networks.{spec.name}.driver")
    driver: NetworkDriver = kind(spec, run_dir=run_dir, undo=undo)
    return driver


def function(name: str, bed: Bed) -> PodFunction:
    """Make the function of that name for pods of this bed. Raises what `load` raises."""
    made: PodFunction = load(FUNCTION, name)(bed)
    return made


def switch(name: str, bed: Bed) -> SwitchDriver:
    """Make the switch of that name between NICs of this bed. Raises what `load` raises."""
    made: SwitchDriver = load(SWITCH, name)(bed)
    return made


def runtime(
    name: str, *, run_dir: str, undo: UndoLog, options: Mapping[str, JsonValue] | None = None
) -> PodRuntime:
    """Make the pod runtime of that name; `options` are its own of the testbed file.

    Raises what `load` raises.
    """
    kind = load(RUNTIME, name, where="pods.runtime")
    made: PodRuntime = kind(run_dir=run_dir, undo=undo, options=options or {})
    return made


def provider(name: str, *, node: Node, place: Place, ledger: Ledger, token: str) -> MachineProvider:
    """Make the provider of machines of that name. Raises what `load` raises."""
    kind = load(PROVIDER, name, where="vms.driver")
    made: MachineProvider = kind(node=node, place=place, ledger=ledger, token=token)
    return made


def forms() -> tuple[str, ...]:
    """List the installed hosting forms of proxies that a profile may name; a pod's are `pod_<option>`."""
    return tuple(name for name in names(HOSTING) if name != POD)


def workload(name: str, *, kind: str, where: str = "") -> Any:
    """Return the class of the workload of that name, which is made of what its kind of load is made of.

    Raises what `load` raises, and ConfigError DRIVER-04 for a workload of another kind than `kind`.
    """
    found = load(WORKLOAD, name, where=where)
    if found.kind != kind:
        raise ConfigError(
            "DRIVER-04",
            f"{where + ': ' if where else ''}workload {name!r}",
            expected=f"one that offers {kind}",
            found=f"one that offers {found.kind}",
        )
    return found


def load(kind: str, name: str, *, where: str = "") -> Any:
    """Import the driver `name` of one kind. `where` is the place in the user's file that names it."""
    return offers.load(f"{GROUP}.{kind}", name, f"{where + ': ' if where else ''}{kind} driver {name!r}")
