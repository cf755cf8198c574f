"""The header of a run of HTTP experiments, with the network options that pods are measured with.

They are those of the testbed file; a run that goes on takes them from its header, as its profile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bmwg.drivers.hosting.instance import CRUN
from bmwg.drivers.testbed import NetworkSpec, load_testbed, network_spec
from bmwg.drivers.testbed_row import row_part
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.http.profile import HttpProfile, Planned
from bmwg.methodology.kinds.requests import METRICS, REQUESTS, cell_of, metric_of
from bmwg.methodology.planning import Networks
from bmwg.reports.store import PlannedCell, Run, RunHeader
from bmwg.reports.store.run import CABLES
from bmwg.resources.early import require_drivers
from bmwg.resources.header import header_of
from bmwg.resources.http_proxy.vms import KEY as VMS
from bmwg.resources.settings import Settings

_KEY = "networks"


def of_testbed(settings: Settings) -> dict[str, Any]:
    """Return the file's network options as it has them, by name, but those that `all` leaves out (planning).

    Raises ConfigError as reading the file does, INST-05 on a runtime that a run's header could not tell, and
    what `require_drivers` raises.
    """
    testbed = load_testbed(settings.testbed)
    if testbed.pods.runtime != CRUN:
        raise ConfigError(
            "INST-05",
            f"{testbed.file}: pods.runtime; nothing was started",
            expected=f"{CRUN}, the only one that proxies in pods of a network option are measured with",
            found=testbed.pods.runtime,
            hint="forms kubernetes and kubernetes_service make a cluster of their own: name no testbed file",
        )
    require_drivers(testbed)
    left_out = Networks.of(testbed.data[_KEY]).named_only
    return {name: dict(entry) for name, entry in testbed.data[_KEY].items() if name not in left_out}


def of_header(testbed: Mapping[str, Any]) -> tuple[NetworkSpec, ...]:
    """Return the options that a run's header keeps; none for a run from before there were any."""
    return tuple(network_spec(name, entry) for name, entry in testbed.get(_KEY, {}).items())


def row_of_testbed(settings: Settings) -> dict[str, Any]:
    """Return what a run keeps of a file with a row of hosts: name, hosts, cables and roles; or nothing."""
    data = load_testbed(settings.testbed).data
    part = row_part(data)
    return {"name": data["name"], **part} if part else {}


def profile_of_header(run: Run) -> HttpProfile:
    """Return the profile that a run keeps. Raises ConfigError HPROF-02."""
    if wrong := REQUESTS.wrong_profile(run.profile):
        raise ConfigError("HPROF-02", "run.json: profile", expected="one of its schema", found=wrong)
    return HttpProfile(name=run.profile["name"], data=run.profile)


def http_header(
    profile: HttpProfile,
    networks: Mapping[str, Any],
    vms: Mapping[str, Any],
    row: Mapping[str, Any],
    plan: Sequence[Planned] = (),
    order_seed: int | None = None,
) -> RunHeader:
    """Return the header of a run that begins now, with what `of_testbed`, `vms.header_of` and
    `row_of_testbed` return. `order_seed` is what the order of its plan was drawn from."""
    return header_of(
        testbed={
            **(row or {"name": "client - proxy - server", "nodes": ["client", "proxy", "server"]}),
            _KEY: networks,
            **({VMS: vms} if vms else {}),
        },
        profile=profile.data,
        plan=tuple(
            PlannedCell(test_id=one.test_id, metric=metric_of(one.cell), cell=cell_of(one.cell))
            for one in plan
        ),
        families=METRICS,
        medium_kind=CABLES if row else "veth",
        order_seed=order_seed,
    )
