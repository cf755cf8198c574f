"""A profile of the suites of streams: paths, options and experiments with their numbers, and the plan. Pure.

Ids: SPROF-01 no such profile, SPROF-02 its file is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from bmwg.methodology.answers.repeated import Repetitions
from bmwg.methodology.cells.vnics import AXIS as VNIC
from bmwg.methodology.cells.vnics import VIRTIO
from bmwg.methodology.kinds.repeated.profile import Planned, Profiles, repetitions_of
from bmwg.methodology.kinds.streams.records import KIND, PAIR, Exchange, StreamsSpec, Transport, Way
from bmwg.methodology.records import NOTHING, POD, Cell

FORMAT = "streams_profile/1.0"
SCHEMA = "streams_profile"
TEST_IDS = ("PP-", "SK-")  # how the ids of all tests of these suites begin
GOODPUT, ROUND_TRIP, OPERATION = "goodput", "round_trip_time", "all_to_all_time"
_METRICS = {Exchange.BULK: GOODPUT, Exchange.PING_PONG: ROUND_TRIP, Exchange.ALL_TO_ALL: OPERATION}
# their cells vary by the kind of the guest's NIC
_IN_GUESTS = ("bmp2vmp", "vmp2vmp", "bmp2vmp-remote", "vmp2vmp-remote", "bmp2vmp-vxlan", "vmp2vmp-vxlan")
# in the ids' order: append, never renumber
_PATHS = ("p2p", "p2p-underlay", "p2p-vxlan", "client-server", "p2p-cluster", "c2c", *_IN_GUESTS)
EXPERIMENTS = {  # how a test's id begins
    "tcp": "PP-TCP",
    "udp": "PP-UDP",
    "round_trip": "PP-RTT",
    "socket_sizes": "SK-TCP",
    "request_sizes": "SK-UDP",
    "socket_sizes_twin": "SK-TCPT",
    "request_sizes_twin": "SK-UDPT",
    "all_to_all": "PP-MPI",
    "tcp_rr": "SK-TCPRR",
    "udp_rr": "SK-UDPRR",
}
SWEPT = {  # the axis of experiments that are curves over it
    "socket_sizes": "window_octets",
    "socket_sizes_twin": "window_octets",
    "request_sizes": "message_octets",
    "request_sizes_twin": "message_octets",
}
SERVED = (*SWEPT, "tcp_rr", "udp_rr")  # a server in a hosting form answers them
CLAIM = "forms_take_turns"  # key of a profile: the hosting forms of these take turns
TRANSLATED = "translated_guests"  # key of a profile: form kvm is measured without KVM, too
_SERVER = "client-server"
_AXES = (
    "workload",
    "transport",
    "exchange",
    "way",
    "parallel",
    "message_octets",
    "window_octets",
    "load_bps",
)
_FOLDER = "bmwg.methodology.kinds.streams.profiles"


def _plan(profile: Mapping[str, Any]) -> Iterator[Planned[StreamsSpec]]:
    """Yield every cell, deployment by deployment, each test's cells in the order of its experiment."""
    for place in profile["paths"]:
        engines = place.get("engines", ())  # pods by them are in networks, as all pods are
        for hosting in (*place.get("hostings", (POD,)), *engines):
            networks = place["networks"] if hosting in (POD, *engines) else (NOTHING,)
            for network, vnic in product(networks, _vnics(place)):
                for experiment in profile["experiments"]:
                    if experiment["id"] in place.get("experiments", EXPERIMENTS):
                        yield from _cells(profile, (place["path"], hosting, network, vnic), experiment)


def _vnics(place: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kinds of NIC of a path's guests; one empty word where it has no guests."""
    return tuple(place.get("vnics", (VIRTIO,))) if place["path"] in _IN_GUESTS else ("",)


def _cells(
    profile: Mapping[str, Any], where: tuple[str, str, str, str], experiment: Mapping[str, Any]
) -> Iterator[Planned[StreamsSpec]]:
    path, hosting, network, vnic = where
    axes = ("ways", "parallel", "message_octets", "window_octets", "load_bps")
    if swept := SWEPT.get(experiment["id"]):  # a form has one curve, and one place in each block
        several = [name for name in axes if name != swept and len(experiment[name]) > 1]
        if several:
            raise ValueError(
                f"{experiment['id']}: {several[0]}: expected one beside the {swept} of its curve"
            )
    whole = {"pods": (PAIR,), **experiment}
    for way, parallel, message, window, load, pods in product(*(whole[name] for name in (*axes, "pods"))):
        spec = StreamsSpec(
            workload=experiment["workload"],
            transport=Transport(experiment["transport"]),
            exchange=Exchange(experiment["exchange"]),
            way=Way(way),
            parallel=parallel,
            message_octets=message,
            window_octets=window,
            load_bps=load,
            duration_s=experiment["duration_s"],
            omit_s=experiment["omit_s"],
            pods=pods,
        )
        yield Planned(
            test_id=id_of(experiment["id"], path),
            metric=_METRICS[spec.exchange],
            cell=cell_of(path, network, experiment["id"], spec, hosting, vnic=vnic),
            spec=spec,
            asked=_asked(profile, experiment["id"]),
        )


def _asked(profile: Mapping[str, Any], experiment: str) -> Repetitions:
    """Return how many executions a cell has; none of those whose forms take turns has a limit of time."""
    asked = repetitions_of(profile)
    in_turns = profile.get(CLAIM) and experiment in SERVED
    return replace(asked, limit_s=math.inf) if in_turns else asked


def id_of(experiment: str, path: str) -> str:
    """Return the stable id of the test of an experiment on a path."""
    return f"{EXPERIMENTS[experiment]}-{_PATHS.index(path) + 1}"


def every_id() -> tuple[str, ...]:
    """Return the ids of all tests that there are, in their order."""
    return tuple(
        id_of(experiment, path)
        for experiment in EXPERIMENTS
        for path in _PATHS
        if (path == _SERVER) is (experiment in SERVED)
    )


def cell_of(
    path: str, network: str, experiment: str, spec: StreamsSpec, hosting: str = POD, *, vnic: str = ""
) -> Cell:
    """Return the cell of an experiment's settings on a path; `vnic` where its pods are in guests."""
    told = {"experiment": experiment, **{name: getattr(spec, name) for name in _axes(spec.exchange)}}
    if path in _IN_GUESTS:
        told[VNIC] = vnic or VIRTIO
    where = [path, hosting] if path == _SERVER else [path]
    where += [told[VNIC]] if path in _IN_GUESTS else []
    parts = [*where, network, experiment, spec.way.value, f"{spec.message_octets}o", f"{spec.parallel}s"]
    # profiles ask for it over either, and runs of two of them are compared by the names of cells
    parts += [spec.transport.value] if experiment == "round_trip" and spec.transport is Transport.UDP else []
    parts += [f"{spec.window_octets}w"] if spec.window_octets else []
    parts += [f"{spec.load_bps}bps"] if spec.load_bps else []
    parts += [f"{spec.pods}p"] if spec.exchange is Exchange.ALL_TO_ALL else []
    return Cell(
        kind=KIND,
        path=path,
        hosting=hosting,
        function=NOTHING,
        network=network,
        axes=tuple((name, value if isinstance(value, int) else str(value)) for name, value in told.items()),
        name="/".join(parts),
    )


def _axes(exchange: str) -> tuple[str, ...]:
    return (*_AXES, "pods") if exchange == Exchange.ALL_TO_ALL else _AXES


def cell_of_axes(axes: Mapping[str, Any]) -> Cell:
    """Return the cell of what a run's files say of it. Raises ValueError."""
    told = axes["axes"]
    in_guests = (VNIC,) if axes["path"] in _IN_GUESTS else ()
    wanted = ("experiment", *_axes(told.get("exchange", "")), *in_guests)
    if sorted(told) != sorted(wanted):
        raise ValueError(f"axes: expected {', '.join(wanted)}, found {', '.join(told)}")
    asked = {name: told[name] for name in wanted[1:] if name != VNIC}
    spec = StreamsSpec.from_builtins({**asked, "duration_s": 1.0, "omit_s": 0})
    if axes["function"] != NOTHING or (axes["hosting"] != POD and axes["path"] != _SERVER):
        raise ValueError(f"hosting, function: expected {POD}, {NOTHING}")
    vnic = str(told.get(VNIC, ""))
    return cell_of(axes["path"], axes["network"], told["experiment"], spec, axes["hosting"], vnic=vnic)


PROFILES = Profiles(
    "SPROF-01",
    "SPROF-02",
    suites="pod-to-pod suites",
    schema=SCHEMA,
    folder=_FOLDER,
    cells=_plan,
    once=EXPERIMENTS,
)
