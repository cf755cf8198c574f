"""Makes small runs by the real code, for the rules to be tried on: bench, searches, measurements, journal.

Only three things are not a session's own: the tester is the simulated one, the clock goes on by itself, and
the machine is recorded once. What is wrong with a run is a profile, a device, a tester or a clock that is.
A run of the same description is made once a session.
"""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml

from bmwg.drivers import registry
from bmwg.drivers.platform_record.collect import collect
from bmwg.drivers.traffic.simulated import SimulatedTraffic
from bmwg.methodology.profiles import load_profile, reading
from bmwg.methodology.records import TrialResult, TrialSpec
from bmwg.methodology.search.steadiness import CHECKS
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.judge import Judgement, judge
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.checker.verdicts import ClauseVerdict
from bmwg.resources.kinds.frames.bench import Bench
from bmwg.resources.run import header, open_run, progress
from bmwg.resources.run.provenance import toolkit_state
from bmwg.resources.run.settings import Settings

SIMULATED = Path(__file__).parents[3] / "testbeds" / "simulated.yaml"
TPUT, BOTH_WAYS, FLOWS, TST009, MLR = (
    "R2544-TPUT-1.1",
    "R2544-TPUT-1.2",
    "R2544-TPUT-1.3",
    "R2544-TPUT-2.1",
    "R2544-TPUT-3.1",
)
LATENCY, TAGGED, LATENCY_8219 = "R2544-LAT-1.1", "R2544-LAT-2.1", "R2544-LAT-3.1"
PDV, IPDV, LOSS, SOAK, BURSTS, RECOVERY = (
    "R2544-PDV-1.1",
    "R2544-IPDV-1.1",
    "R2544-LOSS-1.1",
    "R2544-SOAK-1.1",
    "R2544-B2B-1.1",
    "R2544-RECOV-1.1",
)
RESET_LINK, ROUTES, FILTER_1, FILTERS_25 = (
    "R2544-RESET-1.1",
    "R2544-MOD-1.3",
    "R2544-MOD-1.4",
    "R2544-MOD-1.5",
)
IMIX = "R2544-IMIX-1.1"
BROADCAST, MANAGEMENT, BROADCAST_BRIDGED = "R2544-MOD-1.1", "R2544-MOD-1.2", "R2544-MOD-1.6"
BURSTY = tuple(f"R2544-BURST-1.{number}" for number in (1, 2, 3, 4))
QUALIFIED = "CN-TPUT-1.1"  # the tester's own envelope
MEDIUM = {"medium": {"kind": "ethernet", "line_rate_bps": 1_000_000_000}}  # 1,488,095 frames/s of 64 octets
COMMIT = "0123456789abcdef0123456789abcdef01234567"
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # a PyYAML without the C library has none
_MEMORY = Path("/dev/shm")  # a journal waits for the disk after each trial
ROOT: list[Path] = []  # where runs are made; conftest puts a folder of the session here


@contextmanager
def folder() -> Iterator[Path]:
    """Give a folder for runs, in memory where the machine has that."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as made:
        yield Path(made)


class Time:
    """A clock that goes on by what is slept and a little with each look; `share` of a wait is waited."""

    def __init__(self, share: float = 1.0) -> None:
        self.share = share
        self.now_ns = 1_000_000_000

    def monotonic_ns(self) -> int:
        self.now_ns += 1_000
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * self.share * 1e9)


class Tester(SimulatedTraffic):
    """The simulated tester, whose trials take their time by the run's clock. Broken ones are made of it."""

    time: Time

    def run(self, spec: TrialSpec, /) -> TrialResult:
        result = super().run(spec)
        self.time.sleep((spec.total_s + self.drain_s) / self.time.share)
        return result


def paths(*sizes: int) -> list[dict[str, Any]]:
    """Return a plan of these sizes on the wire and through a node."""
    wire = {"path": "wire", "hosting": "none", "function": "none", "networks": "none"}
    node = {"path": "node", "hosting": "baremetal", "function": "kernel-l3", "networks": "none"}
    return [{**one, "frame_octets": list(sizes)} for one in (wire, node)]


SMALL = {  # over the profile's own: one size, one direction, flow and network, a coarse and unchecked search
    "traffic": {"directions": ["forward"], "flows": [1], "destination_networks": [1]},
    "paths": paths(64),
    "search": {"relative_width": 0.1, "state_checks": 0},
    "latency": {"frame_octets": [64]},
}
CHECKED = {"search": {"state_checks": CHECKS}}  # what `verify` asks of a profile, and no row asks for


def run(
    *tests: str,
    base: str = "rfc2544",
    profile: Mapping[str, Any] | None = None,
    testbed: Mapping[str, Any] | None = None,
    device: Mapping[str, Any] | None = None,
    tester: type[Tester] = Tester,
    waited: float = 1.0,
    deviations: tuple[str, ...] = (),
    submission: Mapping[str, Any] | None = None,
    broken: Callable[[], AbstractContextManager[object]] = nullcontext,
    small: bool = True,
) -> Callable[[], Evidence]:
    """Return what makes a run of these tests, or gives the one made before.

    `base` names a profile, made small by `SMALL` and then changed by `profile`; `testbed` changes the
    simulated testbed's file, `device` its tester's options. `waited` is the share of each wait that is
    waited. `deviations` are rows that a `deviations.yaml` declares. `broken` is entered while the run
    is made: it replaces a step of the real code by one that is wrong. Without `small` the profile stays
    whole.
    """
    wanted = _deep(copy.deepcopy(_shipped(base)), SMALL if small else {})
    wanted = _deep(wanted, profile or {})
    bed = _deep(copy.deepcopy(_simulated()), testbed or {})
    bed["tester"]["options"] |= {"stall_ratio": 0.0, **(device or {})}
    key = json.dumps([tests or (TPUT,), wanted, bed, waited, sorted(deviations)], sort_keys=True)
    made = submission

    def make() -> Evidence:
        evidence = _made(key, tester, broken)
        return evidence if made is None else replace(evidence, submission=made)

    return make


@cache
def _shipped(name: str) -> dict[str, Any]:
    return dict(load_profile(name).data)


@cache
def _simulated() -> dict[str, Any]:
    return dict(yaml.safe_load(SIMULATED.read_text("utf-8")))


@cache
def _made(key: str, tester: type[Tester], broken: Callable[[], AbstractContextManager[object]]) -> Evidence:
    tests, profile, testbed, waited, deviations = json.loads(key)
    folder = ROOT[0] / f"made-{len(list(ROOT[0].iterdir()))}"
    folder.mkdir()
    for name, data in (("profile", profile), ("testbed", testbed)):
        (folder / f"{name}.yaml").write_text(yaml.dump(data, Dumper=_DUMPER), encoding="utf-8")
    settings = Settings(
        testbed=folder / "testbed.yaml", profile=str(folder / "profile.yaml"), results=folder, run_id="made"
    )
    clock = Time(waited)
    driver = type(tester.__name__, (tester,), {"time": clock})
    with ExitStack() as stack:
        loaded = registry.load
        stack.enter_context(
            patch.object(
                registry, "load", lambda kind, *a, **k: driver if kind == "traffic" else loaded(kind, *a, **k)
            )
        )
        # Another toolkit may measure by a profile that ours refuses: the rules see that in the run.
        stack.enter_context(patch.object(reading, "undeclared", lambda data: []))
        stack.enter_context(patch.object(open_run, "machine_record", lambda *_: machine()))
        stack.enter_context(patch.object(open_run.OpenRun, "_report", lambda _: None))
        stack.enter_context(patch.object(header, "toolkit_state", _toolkit))
        stack.enter_context(broken())
        # What a run tells its operator goes to the terminal past every redirection; it is of no use here.
        stack.enter_context(patch.object(progress.LineDisplay, "_print", lambda *a, **k: None))
        stack.enter_context(patch.object(progress.LineDisplay, "trial", lambda *a, **k: nullcontext()))
        bench = Bench.open(settings, set(tests), clock)
        try:
            for test in tests:
                bench.outcomes(test)
        finally:
            bench.close()
    if deviations:
        data = {
            "schema": "deviations/1.0",
            "deviations": [
                {
                    "requirement": row,
                    "what": "done otherwise here",
                    "why": "a test asks for it",
                    "by": "a test",
                }
                for row in deviations
            ],
        }
        (folder / "made" / "deviations.yaml").write_text(yaml.safe_dump(data), encoding="utf-8")
    return read_evidence(FolderFiles(folder / "made"))


_toolkit = cache(toolkit_state)


@cache
def machine() -> dict[str, Any]:
    """Return this machine's record, taken once."""
    return dict(collect())


_JUDGED: dict[int, tuple[Evidence, Judgement]] = {}  # by the identity of a run that is kept


def judged(evidence: Evidence) -> Judgement:
    """Judge a run as if a committed toolkit had sent frames: the state of a run is no rule's affair.

    One run serves many rules, and is judged once.
    """
    if id(evidence) not in _JUDGED:
        _JUDGED[id(evidence)] = evidence, judge(as_measured(evidence))
    return _JUDGED[id(evidence)][1]


def as_measured(evidence: Evidence) -> Evidence:
    """Return a run as if a committed toolkit had sent its frames."""
    assert evidence.run is not None, evidence.findings
    toolkit = {**evidence.run["toolkit"], "commit": COMMIT, "dirty": False}
    return replace(evidence, run={**evidence.run, "simulated": False, "toolkit": toolkit})


def verdict_of(evidence: Evidence, row: str, benchmark: str = "") -> ClauseVerdict | None:
    """Return the verdict on a row; None where the run holds nothing that the row is judged on."""
    mine = [
        one
        for one in judged(evidence).verdicts
        if one.requirement == row and benchmark in ("", one.benchmark)
    ]
    return mine[0] if mine else None


def _deep(into: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in changes.items():
        into[name] = _deep(into[name], value) if _both(into.get(name), value) else copy.deepcopy(value)
    return into


def _both(one: Any, other: Any) -> bool:
    return isinstance(one, dict) and isinstance(other, dict)
