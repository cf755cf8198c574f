"""Learning frames before a trial (RFC 2544 section 23, phase b), and the switch that they teach."""

from __future__ import annotations

from bmwg.drivers.api.protocols import Trials
from bmwg.methodology.records import TrialSpec
from bmwg.methodology.trial.judging import Learning, TrialPolicy
from bmwg.resources.kinds.frames.standing_switch import StandingSwitch
from bmwg.resources.run.clock import Clock

_FRESH = 0.9  # choice: of an ageing time, within which a trial has to end


class LearningFrames:
    """Sends what a deployment has to be told before its trials, as often as the policy says."""

    def __init__(
        self, traffic: Trials, policy: TrialPolicy, clock: Clock, switch: StandingSwitch | None = None
    ) -> None:
        """Take who sends, and the `switch` that stands between the tester's ports, if there is one."""
        self._traffic = traffic
        self._policy = policy
        self._clock = clock
        self._switch = switch
        self._learnt_ns: int | None = None
        self._told: list[TrialSpec] = []  # what recorded trials told a switch that no longer stands

    def recorded(self, spec: TrialSpec) -> None:
        """Note a trial that is not run again; what it taught a switch is told to the new one later."""
        if spec.pattern and spec.pattern.unprepared:
            self._told.append(spec)

    def before(self, spec: TrialSpec) -> tuple[int | None, int | None]:
        """Send what goes before a trial, and wait as the policy says.

        Returns when learning frames began and when they had been sent, nanoseconds; None where none went.
        Raises TestbedError SWITCH-02 where a switch would forget within the trial.
        """
        if self._switch is not None:
            self._switch.require_longer(spec, before_s=self._policy.learning_wait_s)
        for told in self._told:
            self._traffic.run(told)  # unrecorded: its result stands in the record of the switch before
        self._told.clear()
        if not self._due(spec):
            return None, None
        learning_ns = self._clock.monotonic_ns()
        self._traffic.learn(spec)
        self._learnt_ns = self._clock.monotonic_ns()
        self._clock.sleep(self._policy.learning_wait_s)
        return learning_ns, self._learnt_ns

    def known(self, spec: TrialSpec) -> tuple[tuple[str, int], ...]:
        """Count the addresses that a switch knows before a trial; nothing without one."""
        return () if self._switch is None else self._switch.looked_at(spec)

    def forget(self, *, wait: bool) -> None:
        """Pass over what recorded trials told; with `wait`, have the switch know no address."""
        self._told.clear()
        if self._switch is not None and wait:
            self._switch.forget(self._clock)

    def _due(self, spec: TrialSpec) -> bool:
        """Whether learning frames go before a trial, as the policy says: once a deployment, or each time.

        They go again where a switch would forget before the trial's end what was told once.
        """
        if spec.pattern is not None and spec.pattern.unprepared:
            return False
        if self._policy.learning is not Learning.DEPLOYMENT or self._learnt_ns is None:
            return self._policy.learning is not Learning.NONE
        since_s = (self._clock.monotonic_ns() - self._learnt_ns) / 1e9
        return self._switch is not None and since_s + spec.total_s > _FRESH * self._switch.ageing_s
