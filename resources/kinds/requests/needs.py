"""What a machine lacks for cells on a hosting form: server, proxy, client programs, or the form itself."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.drivers.api.instance import Hosting, InPath
from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.nodes import programs as hosting_programs
from bmwg.drivers.places.machine import VmHosting
from bmwg.drivers.workload import proxied
from bmwg.drivers.workload.crossed import CrossedFunction
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.kinds.requests.records import CLUSTER_FORMS, RequestsSpec, Workload
from bmwg.resources.kinds.requests.stage import Stage

_APT = "apt-get install --no-install-recommends"


def lacking(stage: Stage, group: Sequence[RequestsSpec]) -> Missing | None:
    """Return the first thing that is missing, with the line that supplies it; None when all is there."""
    form = group[0].form
    try:
        row = stage.row()
        if row.hosts and form in CLUSTER_FORMS:
            return Missing(what="a cluster", reason="this version makes none on the hosts of a row", mend="")
        hosting = stage.probed()
        probed = hosting.probe()
    except TestbedError as error:
        if error.error_id != "PROG-01":
            raise
        return Missing(what="origin server", reason=error.what, mend=error.hint)
    except ConfigError as error:
        if error.error_id not in ("INST-01", "DRIVER-01"):
            raise
        return Missing(what=f"hosting form {form}", reason=error.found, mend="")
    if probed is not None:
        return probed
    # of an image, into which only its machine can look
    own_programs = isinstance(hosting, VmHosting) and hosting.root == "image"
    function = proxied.function(group[0].function)
    if isinstance(function, CrossedFunction):
        if lack := _no_way(hosting, form):
            return lack
        asked = [(row.proxy, {"nft": "nftables"})]
    else:
        asked = [] if own_programs else [(row.proxy, {function.executable: function.packages[0]})]
    if any(spec.stress_cpus for spec in group):
        asked.append((row.proxy, {"stress-ng": "stress-ng"}))
    for node, programs in asked:
        absent = node.call(hosting_programs.available, programs=programs)
        if absent:
            name, package = absent[0]
            return Missing(what=name, reason=f"no `{name}` in PATH", mend=f"{_APT} {package}")
    for workload in dict.fromkeys(spec.workload for spec in group):
        if workload is not Workload.START and (lack := stage.clients(workload.value).probe()):
            return lack
    return None


def _no_way(hosting: Hosting, form: str) -> Missing | None:
    """Say that a form has no place between clients and origin."""
    if isinstance(hosting, InPath):
        return hosting.no_way()
    reason = "it stands beside the way between clients and origin, and not in it"
    return Missing(
        what=f"a way through hosting form {form}", reason=reason, mend="forms native and pod_<option>"
    )
