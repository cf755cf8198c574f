"""Clients in pods of their own on the clients' node, each with a JMeter of its own, shared by the proxies.

What all have done together is what each has done, added up. A client that did not begin, or not with the
others, stands in the result by its number.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.api.workload import Takes
from bmwg.drivers.watch.host_room import host_room
from bmwg.drivers.workload import jmeter_each, tools
from bmwg.drivers.workload.client_links import GATEWAY
from bmwg.drivers.workload.client_pods import ClientPods
from bmwg.drivers.workload.of_requests import OfRequests, RequestsWorkload
from bmwg.methodology.kinds.requests.own_clients import OwnClients
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec
from bmwg.methodology.records import POD_PREFIX

if TYPE_CHECKING:
    from bmwg.drivers.workload.row import Row

_CALL_MARGIN_S, _EACH_S = 60.0, 1.0  # choice: beside the load; to start, to end and to read each client
_MEBI = 1 << 20


class JMeterPods(OfRequests):
    """So many pods with a JMeter each. They stand during a repetition and no longer."""

    takes: ClassVar[Takes] = Takes(least=1, most=None)
    warms_up_itself: ClassVar[bool] = True

    def __init__(self, row: Row, run_dir: Path) -> None:
        super().__init__(row, run_dir)
        self._pods = ClientPods(row)

    def probe(self) -> Missing | None:
        """Tell whether the clients' node has JMeter, and what pods need."""
        return tools.missing(self._row.client, "jmeter") or self._pods.probe()

    def unfit(self, spec: RequestsSpec, /) -> Missing | None:
        """Say that the form has no way to pods of clients, or that the node has no room for so many."""
        if spec.form.startswith(POD_PREFIX):
            return Missing(
                what=f"clients in pods of their own for hosting form {spec.form}",
                reason="its pods have no route to a network beyond the clients' own",
                mend="another hosting form, or workload jmeter",
            )
        needed = spec.clients * jmeter_each.CLIENT_OCTETS
        there = self._row.client.call(host_room)["memory_available_octets"]
        if needed <= there:
            return None
        return Missing(
            what=f"memory for {spec.clients} JMeters on the clients' node",
            reason=f"they need {needed // _MEBI} MiB, {there // _MEBI} MiB are available",
            mend="fewer clients in the profile",
        )

    def describe(self) -> Mapping[str, JsonValue]:
        """The clients' place, and what their pods are."""
        return {**super().describe(), "jmeter": tools.JMETER_VERSION, **self._pods.describe()}

    def run(self, spec: RequestsSpec, /) -> RequestsResult:
        """Have all clients stand, let them go at once, and add up what they did."""
        proxies = [[proxy.address, proxy.port] for proxy in self.attached]
        with self._pods.standing(spec.clients) as pods:
            ran = self._row.client.call_within(
                spec.within_s + _CALL_MARGIN_S + spec.clients * _EACH_S,
                jmeter_each.run,
                clients=[
                    {
                        "number": one.number,
                        "proxy": proxies[(one.number - 1) % len(proxies)],
                        "folder": one.folder,
                        "pod": dict(one.pod.entry),
                    }
                    for one in pods
                ],
                gate=GATEWAY,
                url=self._row.url(spec.object_octets),
                octets=spec.object_octets,
                requests=spec.asked_requests // spec.clients,
                warm_up_requests=spec.warm_up_requests // spec.clients,
                within_s=spec.within_s,
            )
        own = ("mean_request_ns", "warm_up_requests", "warm_up_ns")
        return self.told(
            ran,
            spec.asked_requests,
            own_clients=OwnClients.from_builtins(ran["own_clients"]),
            **{name: ran[name] for name in own},
        )


_: type[RequestsWorkload] = JMeterPods
