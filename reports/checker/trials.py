"""Takes lines of the journal for judging: what a replay needs of each, its validity judged anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bmwg.methodology.errors import ConfigError, ToolkitError
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.records import TrialResult, TrialSpec, Validity
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.judging import Assessment, JudgedTrial, TrialPolicy, assess
from bmwg.reports.checker.delays import delays_of
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.findings import Finding, of_error
from bmwg.reports.checker.source import MAX_LINE_OCTETS, too_long
from bmwg.reports.store.codec import times_from_json
from bmwg.reports.store.frame_codec import result_from_json
from bmwg.reports.store.frame_trials import LIGHT
from bmwg.reports.store.journal import execution
from bmwg.reports.store.long_lists import emptied

_MAX_NUMBER = 1 << 62  # no count and no time is larger; keeps quotients within a float
_MAX_MISJUDGED = 20
_NO_LATENCY = LatencyHistogram()


class LightTrials:
    """Reads trials of frames, without their histograms; equal specs are kept once."""

    def __init__(self, policy: TrialPolicy | None, *, delays: bool = True) -> None:
        """Judge by a profile's policy; without one the recorded validity stands.

        `delays` is whether what tells copies is kept: only `bmwg verify` asks for it.
        """
        self._policy = policy
        self._delays = delays
        self._specs: dict[TrialSpec, TrialSpec] = {}

    def read(
        self, data: Mapping[str, Any], start: int, octets: int, where: str
    ) -> tuple[Trial, Finding | None]:
        """Return the trial of a line of today's form, and where it was judged otherwise than it is now.

        Raises ValueError for what no trial can have.
        """
        for stream in data["result"]["streams"]:
            buckets = stream["latency"]["buckets"]
            if len(buckets) % 3:
                raise ValueError("latency buckets: not in threes")
            numbers = [value for value in stream.values() if isinstance(value, int)]
            numbers += [*stream.get("sent_by_network", ()), *stream.get("received_by_network", ())]
            numbers += stream.get("bursts", {}).values()
            if max(max(buckets, default=0), stream["latency"]["sum_ns"], *numbers) > _MAX_NUMBER:
                raise ValueError(f"a number above {_MAX_NUMBER}")
        if max(data["spec"]["load_fps"], data["spec"]["flows"]) > _MAX_NUMBER:
            raise ValueError(f"a number above {_MAX_NUMBER}")
        whole = result_from_json(data)
        spec = self._specs.setdefault(whole.spec, whole.spec)
        said = data["assessment"]
        validity, reason = Validity(said["validity"]), said["reason"]
        wrong = None
        if self._policy is not None:
            found = assess(whole, self._policy)
            if found.validity is not validity or (found.reason != reason and whole.fault is None):
                wrong = _misjudged(where, found, validity, reason)
            validity = found.validity
        bound = data.get("platform")
        trial = Trial(
            trial=JudgedTrial(seq=data["seq"], result=_light(whole, spec), validity=validity, reason=reason),
            cell_id=data["cell"],
            deployment_id=data["deployment"],
            metric=data["metric"],
            test_id=data["test"],
            phase=data["phase"],
            at=data["at"],
            fault=whole.fault is not None,
            start=start,
            octets=octets,
            platform=(bound["doctor"], bound["drift"], bound["sha256"]) if bound else None,
            times=times_from_json(data.get("times")),
            delays=delays_of(whole) if self._delays else (),
        )
        return trial, wrong


class TakenLines:
    """Takes the lines of a journal one by one from whoever reads it; of a trial it keeps what a replay needs.

    Without a policy the recorded validity of frames stands; without `delays` nothing is kept of latencies.
    After a line that no trial can have it takes no more: `failed` says why.
    """

    def __init__(self, where: str, policy: TrialPolicy | None = None, *, delays: bool = False) -> None:
        """`where` is how messages name the journal."""
        self.trials: list[Trial] = []
        self.executions: list[Execution] = []
        self.hashes: list[str] = []  # of each line
        self.findings: list[Finding] = []
        self.failed: Finding | None = None
        self._where = where
        self._delays = delays
        self._light = LightTrials(policy, delays=delays)

    def take(self, data: Mapping[str, Any], start: int, octets: int) -> None:
        """Take a line of today's form that stands at octet `start`. Raises nothing for what it holds."""
        if self.failed is not None:
            return
        where = f"{self._where}: line {len(self.hashes) + 1}"
        try:
            wrong = self._taken(data, start, octets, where)
        except ToolkitError as error:
            self.failed = of_error(error)
            return
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            self.failed = no_trial(where, error)
            return
        self.hashes.append(data["hash"])
        if wrong is not None and len(self.findings) < _MAX_MISJUDGED:
            self.findings.append(wrong)

    def _taken(self, data: Mapping[str, Any], start: int, octets: int, where: str) -> Finding | None:
        if octets > MAX_LINE_OCTETS:
            raise too_long(self._where, start)
        if data["kind"] in LIGHT:
            trial, wrong = self._light.read(data if self._delays else emptied(data), start, octets, where)
            self.trials.append(trial)
        else:
            other, wrong = execution_judged(data, where)
            self.executions.append(other)
        return wrong


def no_trial(where: str, error: Exception) -> Finding:
    """Return the finding for a line that no trial can have."""
    return of_error(ConfigError("BND-07", where, expected="a trial", found=str(error)))


def _light(result: TrialResult, spec: TrialSpec) -> TrialResult:
    streams = tuple(replace(stream, latency=_NO_LATENCY) for stream in result.streams)
    return replace(result, spec=spec, streams=streams)


def execution_judged(data: Mapping[str, Any], where: str) -> tuple[Execution, Finding | None]:
    """Read a trial of another kind of load than frames, judged anew by its kind."""
    numbers = [value for value in data["result"].values() if isinstance(value, int)]
    if max(numbers, default=0) > _MAX_NUMBER:
        raise ValueError(f"a number above {_MAX_NUMBER}")
    said = execution(data)
    found = kinds.kind(data["kind"], where).assess(said.body)
    if (found.validity, found.reason) == (said.validity, said.reason) or (
        said.body.faults and found.validity is said.validity
    ):
        return said, None
    wrong = _misjudged(where, found, said.validity, said.reason)
    return replace(said, validity=found.validity, reason=found.reason), wrong


def _misjudged(where: str, found: Assessment, validity: Validity, reason: str) -> Finding:
    return Finding(
        rule_id="VER-03",
        clause="",
        where=where,
        expected=f"{found.validity.value} {found.reason}".strip(),
        found=f"{validity.value} {reason}".strip(),
    )
