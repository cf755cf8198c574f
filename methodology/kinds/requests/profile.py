"""A profile of the HTTP proxy suites: the experiments with their numbers, and the plan that follows. Pure.

Ids: HPROF-01 no such profile, HPROF-02 its file is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from bmwg.methodology.answers.repeated import Repetitions
from bmwg.methodology.kinds.repeated.profile import Planned, Profile, Profiles
from bmwg.methodology.kinds.requests.ip import NAMED_V4, V4
from bmwg.methodology.kinds.requests.mixes import APPLICATIONS, mean_octets
from bmwg.methodology.kinds.requests.origin_failure import OriginFails
from bmwg.methodology.kinds.requests.own_clients import wrong_numbers
from bmwg.methodology.kinds.requests.records import (
    CLUSTER_FORMS,
    FORMS,
    KIND,
    SLOW_FORMS,
    SQUID,
    RequestsSpec,
    Workload,
)
from bmwg.methodology.kinds.requests.tls import PLAIN
from bmwg.methodology.records import NOTHING, POD, POD_PREFIX, Cell
from bmwg.schemas.validation import Problem, near_name

EXPERIMENTS = {  # the middle of a test's id: HP-<it>-<number of the form>
    "one_client": "ONE",
    "hundred_clients": "HUNDRED",
    "one_client_cached": "CACHED",
    "ten_clients": "TEN",
    "ten_clients_cached": "TENCACHED",
    "many_proxies": "MANY",
    "resources": "USE",
    "start": "START",
    "request_rate": "RATE",
}
RFC9411 = {  # experiments of RFC 9411, each with a test of its own for all forms and functions
    "application_mix": "R9411-MIX-1",
    "connections_per_second": "R9411-CPS-1",
    "https_connections_per_second": "R9411-CPS-2",
    "http_throughput": "R9411-TPUT-1",
    "https_throughput": "R9411-TPUT-2",
    "concurrent_connections": "R9411-CONC-1",
    "https_concurrent_connections": "R9411-CONC-2",
}
ORIGIN_FAILURE = "origin_failure"  # the experiment
DIRECT = "none"  # the function that is none: clients and origin alone
HTTP_1 = "h1"  # HTTP/1.1, as a profile names it
INITIAL_IN = 10  # rfc9411-7.2.3.2: the initial load is a tenth of the target
_CONNECTIONS = ("connections_per_second", "https_connections_per_second")
_HELD = ("concurrent_connections", "https_concurrent_connections")
# Network options with a test of their own, in its id's order; of other options all share the next number.
_POD_TESTS = ("bridge", "ptp", "macvlan", "ipvlan", "host-device", "vlan")
FORMAT = "http_profile/1.0"
SCHEMA = "http_profile"
PATH = "client-proxy-server"
PROCESSING, START, RATE = "processing_time", "start_time", "transaction_rate"
CONNECTION_RATE, CONCURRENT = "connection_rate", "concurrent_connections"
ANSWERED = "answered_without_origin"  # of the requests that were sent while the origin failed
METRICS = (PROCESSING, START, RATE, CONNECTION_RATE, CONCURRENT, ANSWERED)
RATES = (RATE, CONNECTION_RATE, CONCURRENT)  # answered by a search
_OPTIONAL = ("tls", "mix", "http", "ip")  # axes of cells that have them
_FAILS = "fails"  # the axis of cells whose origin fails
_AXES = ("experiment", "workload", "proxies", "object_octets", "clients", "cache", "stress_cpus")
TEST_IDS = "HP-"  # how the id of every test of the suites of proxies begins
RFC9411_IDS = "R9411-"  # and that of RFC 9411
ORIGIN_TEST = f"{TEST_IDS}FAIL-1"  # of all forms and functions
OTHER_FORMS = f"{TEST_IDS}OTHER-1"  # the test of each form that does not come with the toolkit


def with_networks(profile: Profile[RequestsSpec], names: Sequence[str]) -> Profile[RequestsSpec]:
    """Return the profile with a form for each of these network options, where it measures pods."""
    return PROFILES.of({**profile.data, "networks": list(names)})


def sizes_octets(profile: Profile[RequestsSpec]) -> list[int]:
    """Every object size that a profile needs."""
    return sorted({octets for planned in profile.plan() for octets in planned.spec.sizes_octets})


def start_deadline_s(profile: Profile[RequestsSpec], form: str) -> float:
    """How long an instance may take until it serves."""
    return float(profile.data["start_deadline_s"]["slow" if form in SLOW_FORMS else "fast"])


def test_id(experiment: str, form: str) -> str:
    """The stable id of the test of an experiment on a form; of a pod or a foreign form, one for all."""
    if experiment in RFC9411:
        return RFC9411[experiment]
    if experiment == ORIGIN_FAILURE:
        return ORIGIN_TEST
    if form.startswith(POD_PREFIX):
        option = form.removeprefix(POD_PREFIX)
        known = _POD_TESTS.index(option) if option in _POD_TESTS else len(_POD_TESTS)
        return f"{TEST_IDS}POD-{known + 1}"
    ours = (*FORMS, *CLUSTER_FORMS)
    return f"{TEST_IDS}{EXPERIMENTS[experiment]}-{ours.index(form) + 1}" if form in ours else OTHER_FORMS


def cell_of(spec: RequestsSpec) -> Cell:
    """Return the cell of what a repetition asks for: `experiment/form/proxies/object_octets/clients`.

    Where it is not Squid, the function is named as well, and TLS and a mix where there is one; of an origin
    that fails how it does, and whether there is a cache; of clients with a generator of their own that.
    """
    pod = spec.form.startswith(POD_PREFIX)
    told = {name: getattr(spec, name) for name in (*_AXES, *(it for it in _OPTIONAL if getattr(spec, it)))}
    told |= {_FAILS: spec.origin.fails} if spec.origin is not None else {}
    return Cell(
        kind=KIND,
        path=PATH,
        hosting=POD if pod else spec.form,
        function=spec.function,
        network=spec.form.removeprefix(POD_PREFIX) if pod else NOTHING,
        axes=tuple((name, int(it) if isinstance(it, int) else str(it)) for name, it in told.items()),
        name="/".join(
            (
                spec.experiment,
                spec.form,
                f"{spec.proxies}p",
                f"{spec.object_octets}o",
                f"{spec.clients}c",
                *((spec.function,) if spec.function != SQUID else ()),
                *((spec.tls,) if spec.tls else ()),
                *((spec.mix,) if spec.mix else ()),
                *((spec.http,) if spec.http else ()),
                *((spec.ip,) if spec.ip else ()),
                *((spec.origin.fails, "cache" if spec.cache else "plain") if spec.origin is not None else ()),
                *((spec.workload,) if spec.workload is Workload.JMETER_PODS else ()),
            )
        ),
    )


def cell_of_axes(axes: Mapping[str, Any]) -> Cell:
    """Return the cell of what a run's files say of it. Raises ValueError."""
    told = axes["axes"]
    if sorted(set(told) - {*_OPTIONAL, _FAILS}) != sorted(_AXES):
        raise ValueError(f"axes: expected {', '.join(_AXES)}, found {', '.join(told)}")
    form = f"{POD_PREFIX}{axes['network']}" if axes["hosting"] == POD else axes["hosting"]
    typed = {"workload": Workload(told["workload"]), "cache": bool(told["cache"]), "form": form}
    typed["function"] = axes["function"]
    if fails := told.get(_FAILS):  # how it fails stands in the name; its load does not
        typed["origin"] = OriginFails(
            fails=fails,
            rate_rps=1,
            fail_s=1.0,
            return_s=1.0,
            answer_s=1.0,
            objects=1,
            cache=bool(told["cache"]),
        )
    of = {name: axis for name, axis in told.items() if name != _FAILS}
    return cell_of(RequestsSpec(**{**of, **typed}))


def metric_of(workload: Workload, experiment: str = "", *, holds: bool = False) -> str:
    """Return the metric that a cell is measured for."""
    if workload.is_open_loop:
        return CONCURRENT if holds else CONNECTION_RATE if experiment in _CONNECTIONS else RATE
    if workload is Workload.ORIGIN_FAILURE:
        return ANSWERED
    return START if workload is Workload.START else PROCESSING


def load(name: str, *, forms: Collection[str] | None = None) -> Profile[RequestsSpec]:
    """Read a profile that comes with the toolkit, or a file; `forms` are those that are installed.

    Raises ConfigError HPROF-01, and HPROF-02 (a ToolkitBug for a file of ours).
    """
    found = PROFILES.load(name)
    if wrong := [*_not_installed(found.data, "forms", "hosting form", forms), *_wrong_together(found.data)]:
        raise PROFILES.refusal(name, str(wrong[0]))
    return found


def require_functions(profile: Profile[RequestsSpec], functions: Collection[str], source: str) -> None:
    """Raise ConfigError HPROF-02 for a function that is not installed; the profile is of `source`."""
    if wrong := _not_installed(profile.data, "functions", "function", functions):
        raise PROFILES.refusal(source, str(wrong[0]))


def _not_installed(
    data: Mapping[str, Any], key: str, what: str, installed: Collection[str] | None
) -> list[Problem]:
    return [
        Problem(
            location=("experiments", number, key),
            expected=f"an installed {what} ({', '.join(installed)})",
            found=repr(name),
            near=near_name(name, installed),
        )
        for number, experiment in enumerate(data["experiments"] if installed is not None else ())
        for name in experiment.get(key, ())
        if installed is not None and name not in installed and not name.startswith(POD_PREFIX)
    ]


def _wrong_together(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what each is right by itself, and nothing together."""
    yield from _mixes_that_make_no_cell(data)
    yield from _loads_of_another_test(data)
    for number, experiment in enumerate(data["experiments"]):
        told = experiment["workload"] == Workload.ORIGIN_FAILURE, experiment["id"] == ORIGIN_FAILURE
        if len({*told, "origin" in experiment}) > 1:
            yield Problem(
                location=("experiments", number),
                expected=f"workload and id {ORIGIN_FAILURE} with settings `origin`, or none of these",
                found=f"workload {experiment['workload']}, id {experiment['id']},"
                f" {'with' if 'origin' in experiment else 'without'} settings",
            )


def _loads_of_another_test(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield each load whose figure would have the name and the unit of another one."""
    for number, experiment in enumerate(data["experiments"]):
        rate, name = experiment.get("rate", {}), experiment["id"]
        holds, each = rate.get("holds", False), rate.get("requests_per_connection", 1)
        one = ", requests_per_connection 1" if name in _CONNECTIONS else ""  # rfc9411-7.2.3.2
        if holds != (name in _HELD) or (one and each != 1):
            expected = f"for {name}: holds {name in _HELD}{one}"
            found = f"holds {holds}, requests_per_connection {each}"
            yield Problem(location=("experiments", number), expected=expected, found=found)


def _mixes_that_make_no_cell(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield each mix of applications that lacks TLS, is held, or whose connections leave objects out."""
    for number, experiment in enumerate(data["experiments"]):
        rate = experiment.get("rate", {})
        for item in experiment["objects"]:
            mix = APPLICATIONS.get(item.get("mix", ""))
            if mix is None:
                continue
            each = rate.get("requests_per_connection", 1)
            if "tls" not in experiment or rate.get("holds") or each % mix.whole_requests:
                yield Problem(
                    location=("experiments", number),
                    expected=f"for mix {item['mix']}: tls, no holds, requests_per_connection a multiple of"
                    f" {mix.whole_requests}",
                    found=f"tls {experiment.get('tls')}, holds {rate.get('holds', False)},"
                    f" requests_per_connection {each}",
                )


def _plan(profile: Mapping[str, Any]) -> Iterator[Planned[RequestsSpec]]:
    """Yield every cell, experiment by experiment, form by form."""
    for experiment in profile["experiments"]:
        pods = [f"{POD_PREFIX}{name}" for name in profile.get("networks", ()) if "pod_octets" in experiment]
        for form in (*experiment.get("forms", FORMS), *pods):
            slow = form in SLOW_FORMS
            several = experiment.get("slow_proxies", experiment["proxies"]) if slow else experiment["proxies"]
            for proxies in several:
                for item in experiment["objects"]:
                    requests = item.get("slow_requests", item["requests"]) if slow else item["requests"]
                    if requests and (form not in pods or item.get("octets") in experiment["pod_octets"]):
                        each = product(
                            _functions(experiment, form),
                            experiment.get("http", (HTTP_1,)),
                            experiment.get("ip", (NAMED_V4,)),
                            experiment.get("origin", {}).get("fails", (None,)),
                        )
                        for (function, tls), http, version, fails in each:
                            yield _planned(
                                profile,
                                experiment,
                                form,
                                proxies,
                                item,
                                requests,
                                function=function,
                                tls=tls,
                                http="" if http == HTTP_1 else http,
                                ip=V4 if version == NAMED_V4 else version,
                                fails=fails,
                            )


def _functions(experiment: Mapping[str, Any], form: str) -> Iterator[tuple[str, str]]:
    """Yield each function of an experiment with each way in which it ends TLS.

    Clients and origin alone are in no form, and are measured beside the first one.
    """
    first = experiment.get("forms", FORMS)[0]
    for function in experiment.get("functions", (SQUID,)):
        if function == DIRECT and form != first:
            continue
        for tls in experiment.get("tls", (PLAIN,)):
            yield function, tls


def _planned(
    profile: Mapping[str, Any],
    experiment: Mapping[str, Any],
    form: str,
    proxies: int,
    item: Mapping[str, Any],
    requests: int,
    *,
    function: str,
    tls: str,
    http: str,
    ip: str,
    fails: str | None,
) -> Planned[RequestsSpec]:
    slow = form in SLOW_FORMS
    search = _rate(profile, experiment, item, slow=slow)
    how = {**experiment.get("origin", {}), "fails": fails, "cache": experiment["cache"]}
    origin = OriginFails(**how) if fails else None
    spec = RequestsSpec(
        experiment=experiment["id"],
        workload=Workload(experiment["workload"]),
        form=form,
        proxies=proxies,
        object_octets=item["octets"] if "octets" in item else mean_octets(item["mix"]),
        mix=item.get("mix", ""),
        clients=experiment["clients"],
        cache=experiment["cache"],
        stress_cpus=experiment.get("stress_cpus", profile["stress_cpus"]),
        asked_requests=origin.asked_requests if origin is not None else requests,
        warm_up_requests=min(experiment.get("warm_up_requests", 0), requests),
        within_s=float(profile["deadline_s"]),
        late_ms=search["max_latency_ms"] if search else 0.0,
        requests_per_connection=(search or {}).get("requests_per_connection", 1),
        function=function,
        tls=tls,
        http=http,
        ip=ip,
        ramp_s=float((search or {}).get("ramp_s", 0)),
        origin=origin,
        search=search,
    )
    if spec.workload is Workload.JMETER_PODS:
        _require_shared(spec)
    repetitions = experiment.get("repetitions", profile["repetitions"])
    if slow:
        repetitions = min(repetitions, profile.get("slow_repetitions", repetitions))
    stands = (proxies, spec.cache, spec.stress_cpus, function, tls, http, ip)
    return Planned(
        test_id=test_id(experiment["id"], form),
        metric=metric_of(spec.workload, spec.experiment, holds=bool((search or {}).get("holds"))),
        cell=cell_of(spec),
        spec=spec,
        asked=Repetitions(
            wanted=repetitions,
            least=min(profile.get("least_repetitions", repetitions), repetitions),
            max_invalid=profile["max_invalid"],
            limit_s=float(profile.get("cell_limit_s", math.inf)),
        ),
        # of a start nothing stands; it is compared with all objects of its experiment, on each form in turn
        deployment=(form, *stands, spec.workload is Workload.START),
        block=(spec.experiment, *stands),
    )


def _require_shared(spec: RequestsSpec) -> None:
    """Raise ValueError for numbers that clients with a generator of their own cannot have."""
    wrong = wrong_numbers(
        clients=spec.clients,
        proxies=spec.proxies,
        requests=spec.asked_requests,
        warm_up_requests=spec.warm_up_requests,
    )
    if spec.search is not None:
        wrong = f"no rate: {spec.workload} is a closed loop"
    if wrong:
        found = f"{spec.proxies} proxies, {spec.asked_requests} requests, {spec.warm_up_requests} of warm-up"
        raise ValueError(f"experiment {spec.experiment}, {spec.form}: expected {wrong}, found {found}")


def _rate(
    profile: Mapping[str, Any], experiment: Mapping[str, Any], item: Mapping[str, Any], *, slow: bool
) -> Mapping[str, Any] | None:
    """Return the settings of the search for a rate on a form, as run and journal's answers keep them."""
    found = experiment.get("rate")
    if found is None:
        return None
    settings = {key: value for key, value in found.items() if key != "slow_max_rps"}
    settings["indicative"] = profile["indicative"]
    if target := item.get("target_rps"):
        settings |= {"min_rps": target // INITIAL_IN, "max_rps": target}
    return settings | ({"max_rps": found["slow_max_rps"]} if slow and "slow_max_rps" in found else {})


PROFILES = Profiles(
    "HPROF-01",
    "HPROF-02",
    suites="HTTP proxy suites",
    schema=SCHEMA,
    folder="bmwg.methodology.kinds.requests.profiles",
    cells=_plan,
    once=EXPERIMENTS,
)
