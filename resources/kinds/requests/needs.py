"""What a machine lacks for cells on a hosting form: server, proxy, client programs, or the form itself."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.drivers.api.instance import AlsoIpv6, Hosting, InPath
from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.nodes import programs as hosting_programs
from bmwg.drivers.places.machine import VmHosting
from bmwg.drivers.workload import proxied
from bmwg.drivers.workload.crossed import CarriedByProgram, CrossedFunction
from bmwg.drivers.workload.proxied import ProxyFunction
from bmwg.drivers.workload.row import Row
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.kinds.requests import ip
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
    if lack := _other_ip(hosting, form, group[0]):
        return lack
    if group[0].workload is Workload.START and (lack := _not_one_alone("the start", group[0])):
        return lack
    # of an image, into which only its machine can look
    own_programs = isinstance(hosting, VmHosting) and hosting.root == "image"
    function = proxied.function(group[0].function)
    if group[0].origin is not None and (lack := _no_cache(function, cache=group[0].cache)):
        return lack
    if isinstance(function, CrossedFunction):
        if lack := _not_one_alone(f"function {function.name}", group[0]) or _no_way(
            hosting, form, program=isinstance(function, CarriedByProgram)
        ):
            return lack
        asked = [(row.proxy, {"nft": "nftables"})]
        if isinstance(function, CarriedByProgram) and (lack := _no_program(row, function)):
            return lack
    elif function.forward and group[0].turns:
        reason = "it counts tunnels and requests apart, and nothing holds these against a mix of both"
        return Missing(what=f"function {function.name} for a mix of HTTP and HTTPS", reason=reason, mend="")
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
    for spec in group:
        if spec.workload is not Workload.START and (lack := stage.clients(spec.workload.value).unfit(spec)):
            return lack
    return None


def _no_cache(function: CrossedFunction | ProxyFunction, *, cache: bool) -> Missing | None:
    """Say that a function is none that could answer for an origin that fails."""
    if isinstance(function, CrossedFunction):
        reason = "requests cross it, and it answers none"
    elif cache and not function.caches:
        reason = "it is started without one here"
    else:
        return None
    return Missing(
        what=f"a cache of function {function.name}", reason=reason, mend="functions squid and nginx"
    )


def _other_ip(hosting: Hosting, form: str, spec: RequestsSpec) -> Missing | None:
    """Say that a form or a function does not stand between the versions of IP that a cell names."""
    function = proxied.function(spec.function)
    if isinstance(function, CrossedFunction) and spec.ip not in function.ips:
        return Missing(
            what=f"function {function.name} between {ip.words(spec.ip)}",
            reason=f"it stands between {' or '.join(sorted(map(ip.words, function.ips)))}",
            mend="",
        )
    if spec.ip == ip.V4:
        return None
    if isinstance(hosting, AlsoIpv6):
        return hosting.no_ipv6()
    reason = "its instances have addresses of IPv4 alone"
    return Missing(what=f"{ip.words(spec.ip)} on hosting form {form}", reason=reason, mend="")


def _no_program(row: Row, function: CarriedByProgram) -> Missing | None:
    """Say that the proxies' machine has no program of a function that needs one."""
    if not row.proxy.call(hosting_programs.available, programs={function.executable: ""}):
        return None
    reason = f"no `{function.executable}` in PATH"
    return Missing(what=function.executable, reason=reason, mend=function.mend)


def _not_one_alone(of: str, spec: RequestsSpec) -> Missing | None:
    """Say that several of what is measured by itself are not made, nor stress beside it."""
    if spec.proxies == 1 and not spec.stress_cpus:
        return None
    return Missing(
        what=f"{spec.proxies} of {of} with {spec.stress_cpus} workers of stress",
        reason="there is one of it, and its machine has no other load",
        mend="proxies: [1] and stress_cpus: 0 in the profile",
    )


def _no_way(hosting: Hosting, form: str, *, program: bool) -> Missing | None:
    """Say that a form has no place between clients and origin, or none with a program in it."""
    if isinstance(hosting, InPath):
        return hosting.no_way(program=program)
    reason = "it stands beside the way between clients and origin, and not in it"
    return Missing(
        what=f"a way through hosting form {form}", reason=reason, mend="forms native and pod_<option>"
    )
