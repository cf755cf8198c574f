"""What a profile that counts every loss says of stalls: how many trials had one, and which losses they are.

A conformance profile sets no trial aside because the SUT's CPU was gone (design decision 13): what was lost
then is loss. So its answer is honest and may lie far below what the device carries on a host that leaves it
its CPUs (docs/adr/0264): whoever reads the number has to be told, with the numbers. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bmwg.methodology.records import Outcome
from bmwg.methodology.trial.judging import JudgedTrial, TrialPolicy, host_stall

QUEUE_FRAMES = 256  # choice: of a device queue; a stall that lasts until it is full loses what comes then
SHORTEST_NS = 100_000  # docs/adr/0261: what a watchdog tells as an absence
_NS = 1_000_000_000
_MS = 1_000_000


def stalled(trial: JudgedTrial, policy: TrialPolicy) -> str:
    """Say which CPU of the SUT was gone for so long that a queue fills at the trial's load; empty when none.

    Never longer than the policy's own limit. A watchdog that was blind shows nothing.
    """
    load = max(trial.load, trial.result.spec.then_load_fps or 0, 1)
    limit_ns = min(policy.max_host_stall_ns, max(SHORTEST_NS, QUEUE_FRAMES * _NS // load))
    return host_stall(trial.result, replace(policy, max_host_stall_ns=limit_ns))


def remark(outcome: Outcome, trials: Sequence[JudgedTrial], policy: TrialPolicy) -> str:
    """Say how many valid trials of an outcome had a stall of the SUT's CPU; empty when none had.

    Where the outcome has an upper bound, of the trials up to it that lost frames those with a stall are
    named: without them that load might have come through. The tester's own stalls are told elsewhere.
    """
    valid = [trial for trial in trials if trial.valid]
    held = {trial.seq for trial in valid if stalled(trial, policy)}
    if policy.set_aside_host_stalls or not held:
        return ""
    longest_ns = max(_longest_ns(trial) for trial in valid if trial.seq in held)
    said = (
        f"in {len(held)} of {len(valid)} trials a CPU of the SUT was gone, for at most"
        f" {longest_ns / _MS:.1f} ms at once, and what was lost meanwhile counts as loss"
    )
    if outcome.upper is None:
        return said
    upper = outcome.upper.load_fps
    lossy = [trial.seq for trial in valid if trial.lost and trial.load <= upper]
    by_stalls = [seq for seq in lossy if seq in held]
    if not by_stalls:
        return said
    of_them = "all" if len(by_stalls) == len(lossy) else str(len(by_stalls))
    return (
        f"{said}: {of_them} of the {len(lossy)} trials that lost frames at {upper} frames/s or below had such"
        " a stall, so stalls of the host may have lowered this answer"
    )


def _longest_ns(trial: JudgedTrial) -> int:
    seen = trial.result.disturbance
    if seen is None:
        return 0
    return max((ns for _, ns in (*seen.largest_stall_ns, *seen.steal_ns)), default=0)
