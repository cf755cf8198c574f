"""What a machine lacks for cells on a hosting form: server, proxy, client programs, or the form itself."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.drivers.api import Missing
from bmwg.drivers.workload import squid
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.http.profile import Planned
from bmwg.methodology.http.records import SLOW_FORMS, Workload
from bmwg.methodology.records import POD_PREFIX
from bmwg.resources.http_proxy import astf
from bmwg.resources.http_proxy.stage import Stage

CLIENT_PROGRAMS = {Workload.AB: {"ab": "apache2-utils"}}
_CLIENT_TOOLS = {Workload.JMETER: "jmeter", Workload.OPEN_LOOP: "k6"}
_APT = "apt-get install --no-install-recommends"


def lacking(stage: Stage, group: Sequence[Planned]) -> Missing | None:
    """Return the first thing that is missing, with the line that supplies it; None when all is there."""
    form = group[0].cell.form
    try:
        row = stage.row()
        if row.hosts and form.startswith(POD_PREFIX):
            return Missing(what="pods", reason="this version makes none on the hosts of a row", mend="")
        probed = stage.probed().probe()
    except TestbedError as error:
        if error.error_id != "PROG-01":
            raise
        return Missing(what="origin server", reason=error.what, mend=error.hint)
    except ConfigError as error:
        if error.error_id != "INST-01":
            raise
        return Missing(what=f"hosting form {form}", reason=error.found, mend="")
    if probed is not None:
        return probed
    own_programs = form in SLOW_FORMS and row.place.vms.image is not None  # which only a guest can look into
    asked = [] if own_programs else [(row.proxy, {squid.PACKAGES[0]: squid.PACKAGES[0]})]
    for planned in group:
        asked.append((row.client, CLIENT_PROGRAMS.get(planned.cell.workload, {})))
    if any(planned.cell.stress_cpus for planned in group):
        asked.append((row.proxy, {"stress-ng": "stress-ng"}))
    for node, programs in asked:
        absent = node.call("bmwg.drivers.hosting.programs:available", programs=programs)
        if absent:
            name, package = absent[0]
            return Missing(what=name, reason=f"no `{name}` in PATH", mend=f"{_APT} {package}")
    if any(planned.cell.workload is Workload.TREX_ASTF for planned in group):
        if row.hosts:
            return Missing(what="TRex", reason="this version starts none on the hosts of a row", mend="")
        if lack := astf.lacking():
            return lack
    wanted = {_CLIENT_TOOLS.get(planned.cell.workload) for planned in group} - {None}
    absent = row.client.call("bmwg.drivers.workload.tools:absent", tools=sorted(wanted))
    if not absent:
        return None
    return Missing(what=absent[0][0], reason="not on the clients' node", mend=absent[0][1])
