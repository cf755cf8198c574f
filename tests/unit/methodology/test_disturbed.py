"""What each measurement makes of a machine that is never calm, of a tester that is short, and of a fault."""

from dataclasses import replace

import pytest

from bmwg.methodology import suites
from bmwg.methodology.benchmarks import imix
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement, measurements
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Bound, Cell, Outcome, OutcomeType, Validity
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import HardLimit
from bmwg.methodology.trial.cpu_watch import CpuWatch, HostDisturbance
from bmwg.methodology.trial.judging import JudgedTrial, assess

PROFILE = load_profile("quick")
CELL = Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64)
FOUND = Outcome(
    outcome_id="t",
    metric="throughput.rfc2544_26_1",
    cell=CELL,
    type=OutcomeType.MEASURED,
    lower=Bound(load_fps=400_000, trials=(1,)),
)
# a switch alone is asked for these: test_switch_measurements.py, test_illegal_frames.py
OF_SWITCHES = ("caching_capacity", "learning_rate", "illegal_frames")
NAMES = [name for name in measurements() if name not in OF_SWITCHES]
GONE = CpuWatch(cpu=1, tester=True, absences=1, absent_ns=90_000_000, longest_ns=90_000_000)
STALL = HostDisturbance(largest_stall_ns=((0, 90_000_000),), watches=(GONE,))


AT_WORK = ("forward.broadcast_sent_frames", *(f"modifier.{x}" for x in ("answered_frames", "matched_frames")))


def observed(result):
    """What a tester and modifiers add to the counts of a model."""
    tags = tuple(1_000 for _ in result.spec.tag_frames)
    streams = tuple(replace(one, tagged_ns=tags) for one in result.streams)
    counts = tuple((name, 1) for name in (*AT_WORK, "modifier.learnt_routes"))
    return replace(result, streams=streams, auxiliary=counts)


def answers(name, change, cell=CELL):
    """What a measurement concludes when each of its trials is changed so; and the trials it asked for."""
    bench, taken = ModelBench(device=HardLimit(limit_fps=400_000), seed=1), []

    def take(spec, phase):
        result = change(observed(bench.measure(spec).result))
        said = assess(result, PROFILE.policy)
        taken.append(
            JudgedTrial(seq=len(taken) + 1, result=result, validity=said.validity, reason=said.reason)
        )
        return taken[-1]

    asked = Asked(
        profile=PROFILE,
        cell=cell,
        outcome_id="id",
        trial=take,
        max_load_fps=1_500_000,
        envelope_fps=1_500_000,
        throughput=FOUND,
    )
    return measurement(name).measure(asked).outcomes, taken


def short(result):
    return replace(result, streams=tuple(half(one, result.spec.tag_frames) for one in result.streams))


def half(stream, tag_frames):
    """The first half of what a stream has sent, all of which came."""
    sent = stream.sent_frames // 2
    tagged = zip(tag_frames, stream.tagged_ns, strict=True) if stream.tagged_ns else ()
    tags = tuple(latency_ns if number < sent else None for number, latency_ns in tagged)
    return replace(stream, sent_frames=sent, received_frames=sent, tagged_ns=tags)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_but_disturbed_trials_is_unstable_and_never_a_number(name):
    found, taken = answers(name, lambda result: replace(result, disturbance=STALL))
    if name.startswith("reset_"):  # the outage of a reset is timed to 5 ms, and this stall is longer
        assert {trial.validity for trial in taken} == {Validity.TESTER_STALLED}
    for one in found:
        assert one.type is OutcomeType.UNSTABLE, one
        assert one.values == ()
        assert one.lower is None
        assert one.statement
        assert one.reason


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_is_invalid(name):
    found, _ = answers(name, lambda result: replace(result, fault="the pod ended"))
    for one in found:
        assert one.type is OutcomeType.INVALID, one
        assert one.values == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_tester_that_is_always_short_is_the_limit(name):
    found, _ = answers(name, short)
    for one in found:
        assert one.type is (OutcomeType.UNSTABLE if name == "soak" else OutcomeType.TESTER_LIMITED), one
        assert one.values == ()


def test_a_container_is_restarted_where_it_is_what_forwards():
    plan = planning.cells(PROFILE, {"bridge": None}, test_ids={"R2544-RESET-1.3", "R2544-RESET-1.1"})
    functions = {planned.measurement: planned.cell.function for planned in plan}
    assert functions == {"reset_link": "kernel-l3", "reset_container": "testpmd"}


@pytest.mark.parametrize(
    ("test_id", "metric"),
    [
        ("R2544-IMIX-1.1", "throughput.rfc2544_26_1"),
        ("R2544-IMIX-2.1", "throughput.tst009_12_3"),
        ("R2544-IMIX-3.1", "conditional_throughput.rfc9971"),
    ],
)
def test_each_search_of_mixed_sizes_sends_the_mix_of_its_cell(test_id, metric):
    case = suites.case(test_id)
    cell = planning.answers_of(PROFILE, case, {"bridge": None})[0].cell
    found, taken = answers(case.measurement, lambda result: result, cell)
    assert {trial.result.spec.mix_octets for trial in taken} == {imix.parse(cell.imix).sequence}
    for one in found:
        assert one.type is OutcomeType.MEASURED
        assert one.metric.startswith(metric)
        assert one.lower.load_fps <= 400_000
