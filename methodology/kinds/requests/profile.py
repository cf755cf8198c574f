"""A profile of the HTTP proxy suites: the experiments with their numbers, and the plan that follows. Pure.

Ids: HPROF-01 no such profile, HPROF-02 its file is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bmwg.methodology.answers.repeated import Repetitions
from bmwg.methodology.kinds.requests.records import CLUSTER_FORMS, FORMS, SLOW_FORMS, HttpCell, Workload
from bmwg.methodology.plan.plan_size import bounded
from bmwg.methodology.profiles.profile_files import ProfileFiles
from bmwg.methodology.records import POD_PREFIX
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.schemas.validation import Problem, near_name, problems

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
# Network options with a test of their own, in its id's order; of other options all share the next number.
_POD_TESTS = ("bridge", "ptp", "macvlan", "ipvlan", "host-device", "vlan")
_KEEP_AWAKE = "keep_awake"
TEST_IDS = "HP-"  # how the id of every test of these suites begins
OTHER_FORMS = f"{TEST_IDS}OTHER-1"  # the test of each form that does not come with the toolkit
_FILES = ProfileFiles("HPROF-01", "HPROF-02", "bmwg.methodology.kinds.requests.profiles", "HTTP proxy suites")
OTHER_PODS = f"{POD_PREFIX}other"  # stands in a suite for every option without a test of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A cell with its test and the numbers of its procedure.

    A cell that has run for `cell_limit_s` ends with `least_repetitions` valid ones.
    """

    test_id: str
    cell: HttpCell
    requests: int
    warm_up_requests: int
    repetitions: int
    max_invalid: int
    deadline_s: float
    least_repetitions: int = 0  # 0: all of them
    cell_limit_s: float = math.inf
    rate: Mapping[str, Any] | None = None

    @property
    def least(self) -> int:
        """How many valid repetitions make an answer."""
        return self.least_repetitions or self.repetitions

    @property
    def key(self) -> str:
        """The id of its cell, of which each run has one answer."""
        return self.cell.cell_id

    @property
    def deployment(self) -> tuple[object, ...]:
        """What must stand: as the cell says, and nothing where its start is what is measured."""
        return (*self.cell.deployment, self.cell.workload is Workload.START)

    @property
    def block(self) -> tuple[object, ...]:
        """What it is compared by: all objects of an experiment, on each hosting form in turn."""
        return (self.cell.experiment, self.cell.proxies, self.cell.cache, self.cell.stress_cpus)

    @property
    def asked(self) -> Repetitions:
        """How many repetitions are run, and when it is enough."""
        return Repetitions(
            wanted=self.repetitions,
            least=self.least,
            max_invalid=self.max_invalid,
            limit_s=self.cell_limit_s,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpProfile:
    """A profile; `data` is its file, as the run's header keeps it."""

    name: str
    data: Mapping[str, Any]

    @property
    def keep_awake(self) -> KeepAwake:
        """What keeps CPUs from halting in its runs. A run from before there was the key held nothing."""
        return KeepAwake(self.data.get(_KEEP_AWAKE, KeepAwake.NONE))

    def plan(self) -> tuple[Planned, ...]:
        """Return every cell, experiment by experiment, form by form. ConfigError PRF-10 for too many."""
        each = (
            planned for experiment in self.data["experiments"] for planned in _cells(self.data, experiment)
        )
        return tuple(bounded(each))

    def with_networks(self, names: Sequence[str]) -> HttpProfile:
        """Return the profile with a form for each of these network options, where it measures pods."""
        return replace(self, data={**self.data, "networks": list(names)})

    @property
    def sizes_octets(self) -> list[int]:
        """Every object size that the profile needs."""
        return sorted({planned.cell.object_octets for planned in self.plan()})

    def start_deadline_s(self, form: str) -> float:
        """How long an instance may take until it serves."""
        return float(self.data["start_deadline_s"]["slow" if form in SLOW_FORMS else "fast"])

    def settings(self, experiment: str) -> Mapping[str, Any]:
        """The entry of an experiment."""
        found: Mapping[str, Any] = next(e for e in self.data["experiments"] if e["id"] == experiment)
        return found


def test_id(experiment: str, form: str) -> str:
    """The stable id of the test of an experiment on a form; of a pod or a foreign form, one for all."""
    if form.startswith(POD_PREFIX):
        option = form.removeprefix(POD_PREFIX)
        known = _POD_TESTS.index(option) if option in _POD_TESTS else len(_POD_TESTS)
        return f"{TEST_IDS}POD-{known + 1}"
    ours = (*FORMS, *CLUSTER_FORMS)
    return f"{TEST_IDS}{EXPERIMENTS[experiment]}-{ours.index(form) + 1}" if form in ours else OTHER_FORMS


names = _FILES.names


def load(name: str, *, forms: Collection[str] | None = None) -> HttpProfile:
    """Read a profile that comes with the toolkit, or a file; `forms` are those that are installed.

    Raises ConfigError HPROF-01, and HPROF-02 as `parsed`.
    """
    return parsed(_FILES.read(name), name, forms=forms)


def parsed(data: Mapping[str, Any], name: str, *, forms: Collection[str] | None = None) -> HttpProfile:
    """Return the profile that a file holds; one that does not say what keeps CPUs awake asks for pm_qos.

    The profile that a run's header keeps is not for this: it is `HttpProfile(data=...)` as it stands. Raises
    HPROF-02: ConfigError for a file of the user's, ToolkitBug for one of ours.
    """
    found = problems(data, "http_profile") or _not_installed(data, forms)
    if found:
        raise _FILES.refusal(name, str(found[0]))
    return HttpProfile(name=data["name"], data={_KEEP_AWAKE: KeepAwake.PM_QOS.value, **data})


def _not_installed(data: Mapping[str, Any], forms: Collection[str] | None) -> list[Problem]:
    return [
        Problem(
            location=("experiments", number, "forms"),
            expected=f"an installed hosting form ({', '.join(forms)})",
            found=repr(form),
            near=near_name(form, forms),
        )
        for number, experiment in enumerate(data["experiments"] if forms is not None else ())
        for form in experiment.get("forms", ())
        if forms is not None and form not in forms
    ]


def _cells(profile: Mapping[str, Any], experiment: Mapping[str, Any]) -> list[Planned]:
    made = []
    pods = [f"{POD_PREFIX}{name}" for name in profile.get("networks", ()) if "pod_octets" in experiment]
    for form in (*experiment.get("forms", FORMS), *pods):
        slow = form in SLOW_FORMS
        repetitions = experiment.get("repetitions", profile["repetitions"])
        if slow:
            repetitions = min(repetitions, profile.get("slow_repetitions", repetitions))
        for proxies in (
            experiment.get("slow_proxies", experiment["proxies"]) if slow else experiment["proxies"]
        ):
            for item in experiment["objects"]:
                requests = item.get("slow_requests", item["requests"]) if slow else item["requests"]
                if requests == 0 or (form in pods and item["octets"] not in experiment["pod_octets"]):
                    continue
                cell = HttpCell(
                    experiment=experiment["id"],
                    workload=Workload(experiment["workload"]),
                    form=form,
                    proxies=proxies,
                    object_octets=item["octets"],
                    clients=experiment["clients"],
                    cache=experiment["cache"],
                    stress_cpus=experiment.get("stress_cpus", profile["stress_cpus"]),
                )
                made.append(
                    Planned(
                        test_id=test_id(experiment["id"], form),
                        cell=cell,
                        requests=requests,
                        warm_up_requests=min(experiment.get("warm_up_requests", 0), requests),
                        repetitions=repetitions,
                        max_invalid=profile["max_invalid"],
                        deadline_s=float(profile["deadline_s"]),
                        least_repetitions=min(profile.get("least_repetitions", repetitions), repetitions),
                        cell_limit_s=float(profile.get("cell_limit_s", math.inf)),
                        rate=_rate(profile, experiment, slow=slow),
                    )
                )
    return made


def _rate(
    profile: Mapping[str, Any], experiment: Mapping[str, Any], *, slow: bool
) -> Mapping[str, Any] | None:
    """Return the settings of the search for a rate on a form, as run and journal's answers keep them."""
    found = experiment.get("rate")
    if found is None:
        return None
    settings = {key: value for key, value in found.items() if key != "slow_max_rps"}
    settings["indicative"] = profile["indicative"]
    return settings | ({"max_rps": found["slow_max_rps"]} if slow and "slow_max_rps" in found else {})
