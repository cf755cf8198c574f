"""The cluster that a run makes for itself, on nodes of the testbed file and by its options.

Ids: KUBE-01 programs are missing, KUBE-12 a node that the file does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bmwg.drivers.api.protocols import (
    JsonValue,
    Missing,
    NetworkDriver,
    PlacedNode,
    PluginNetwork,
    UndoLog,
)
from bmwg.drivers.kubernetes import programs
from bmwg.drivers.kubernetes.cluster import READY_S, Embedded, embedded
from bmwg.drivers.kubernetes.joined import joining_of
from bmwg.drivers.kubernetes.settings import PLUGIN_DIR
from bmwg.drivers.nodes import cgroups
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.trial.cpu_lists import cpu_list


@contextmanager
def cluster(
    nodes: Mapping[str, PlacedNode],
    options: Mapping[str, JsonValue],
    *,
    run_dir: Path,
    undo: UndoLog,
    token: str,
    cpus: str,
    kept_off: Sequence[Sequence[int]],
    networks: Sequence[NetworkDriver],
) -> Iterator[Embedded]:
    """Make it and remove it on leaving. `cpus` are the pods'; its own programs avoid those in `kept_off`."""
    first = next(iter(nodes.values()))
    version = str(options.get("version", ""))
    lack = Missing.told(first.call(programs.missing, version=version))
    if lack is not None:
        raise TestbedError("KUBE-01", f"no {lack.what}", found=lack.reason, hint=lack.mend)
    names = options.get("nodes") or [next(iter(nodes))]
    unknown = [name for name in names if name not in nodes]
    if unknown:
        raise ConfigError(
            "KUBE-12",
            "pods.options.nodes of the testbed file",
            expected=f"nodes of the file ({', '.join(nodes)})",
            found=", ".join(unknown),
        )
    online = first.call(cgroups.default_cpus)
    with embedded(
        {name: nodes[name] for name in names},
        run_dir=run_dir,
        undo=undo,
        token=token,
        function_cpus=cpus,
        other_cpus=_others(str(online), [cpu_list(cpus)]),
        program_cpus=_others(str(online), [cpu_list(cpus), *kept_off]),
        plugin_dirs=_plugin_dirs(networks),
        network=joining_of(networks, first),
        version=version,
        interface=str(options.get("interface", "")),
        within_s=float(options.get("ready_s", READY_S)),
    ) as made:
        yield made


def _plugin_dirs(networks: Sequence[NetworkDriver]) -> list[str]:
    """Return the folders of CNI plugins of all options, the distribution's first."""
    named = (network.plugin_dir for network in networks if isinstance(network, PluginNetwork))
    folders = dict.fromkeys([PLUGIN_DIR, *filter(None, named)])
    return [folder for folder in folders if Path(folder).is_dir()]


def _others(online: str, kept_off: Sequence[Sequence[int]]) -> str:
    """Return the CPUs outside of all these lists; where none would be left, a later list does not count."""
    rest = set(cpu_list(online))
    for busy in kept_off:
        rest = rest - set(busy) or rest
    return ",".join(map(str, sorted(rest)))
