"""The three runs of each rule of RFC 8219."""

from __future__ import annotations

from foreign import header, outcomes, said, trials, value
from runs import IPDV, LATENCY_8219, PDV, TPUT, paths, run
from testers import Differences
from three import Three

from bmwg.methodology.benchmarks.delay_variation import PDV_METRIC, SAMPLE_METRIC
from bmwg.methodology.benchmarks.tagged_latency import TYPICAL_METRIC, WORST_METRIC

SIZES = (64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216)
NONE = run(TPUT)  # no stream
LATENCY = run(LATENCY_8219)
VARIATION = run(PDV)
NEIGHBOURS = run(IPDV)
BOTH = run(LATENCY_8219, profile={"traffic": {"directions": ["both"]}})
ETHERNET = run(LATENCY_8219, profile={"traffic": {"frame_formats": ["ethernet"]}})


def latency(**settings):
    return run(LATENCY_8219, profile={"benchmarks": {"tagged_latency": settings}})


def pdv(**settings):
    return run(PDV, profile={"benchmarks": {"delay_variation": settings}})


def ipdv(**settings):
    return run(IPDV, profile={"benchmarks": {"delay_variation": settings}})


def silent(one):
    """Say nothing of the definition of latency."""
    one["drivers"] = [{k: v for k, v in d.items() if k != "latency_definition"} for d in one["drivers"]]


def gone(metric):
    def change(one):
        one["values"] = [number for number in one["values"] if number["metric"] != metric]

    return change


def half_load(one):
    """Let a stream have had half of the load."""
    one["spec"]["load_fps"] //= 2


def three(met, not_met, not_applicable=NONE):
    return Three(met=met, not_met=not_met, not_applicable=not_applicable)


LAB = header(lambda data: data["testbed"].update(lab_ports=["eth7"]))
ROW = "RFC8219-"
CASES: dict[str, Three] = {
    f"{ROW}5": three(LATENCY, ETHERNET),
    f"{ROW}5.1-02": three(LATENCY, said(LATENCY, LAB)),
    f"{ROW}5.1.1-01": three(run(LATENCY_8219, profile={"paths": paths(*SIZES)}), LATENCY),
    f"{ROW}5.3-01": three(BOTH, LATENCY),
    f"{ROW}5.3-03": three(LATENCY, ETHERNET),
    f"{ROW}7.2-01": three(LATENCY, said(LATENCY, trials(TYPICAL_METRIC, half_load)), VARIATION),
    f"{ROW}7.2-02": three(LATENCY, latency(stream_s=119.0), VARIATION),
    f"{ROW}7.2-03": three(LATENCY, latency(stream_s=118.0), VARIATION),
    f"{ROW}7.2-04": three(LATENCY, run(LATENCY_8219, tester=Differences), VARIATION),
    f"{ROW}7.2-05": three(LATENCY, ETHERNET),
    f"{ROW}7.2-06": three(
        LATENCY, said(LATENCY, outcomes(TYPICAL_METRIC, value(TYPICAL_METRIC, number=5))), VARIATION
    ),
    f"{ROW}7.2-07": three(
        LATENCY, said(LATENCY, outcomes(TYPICAL_METRIC, value(WORST_METRIC, number=5))), VARIATION
    ),
    f"{ROW}7.2-08": three(LATENCY, latency(streams=19), VARIATION),
    f"{ROW}7.2-09": three(LATENCY, said(LATENCY, header(silent)), VARIATION),
    f"{ROW}7.3-01": three(VARIATION, LATENCY),
    f"{ROW}7.3.1-02": three(VARIATION, pdv(stream_s=59.0), LATENCY),
    f"{ROW}7.3.1-05": three(VARIATION, pdv(streams=19), LATENCY),
    f"{ROW}7.3.1-06": three(
        VARIATION, said(VARIATION, outcomes(PDV_METRIC, gone(f"{PDV_METRIC}.p99"))), LATENCY
    ),
    f"{ROW}7.3.2-01": three(NEIGHBOURS, ipdv(stream_s=59.0), LATENCY),
    f"{ROW}7.3.2-03": three(
        NEIGHBOURS, said(NEIGHBOURS, outcomes(SAMPLE_METRIC, gone(f"{SAMPLE_METRIC}.min"))), LATENCY
    ),
    f"{ROW}7.3.2-04": three(NEIGHBOURS, ipdv(streams=19), LATENCY),
    f"{ROW}12-01": three(LATENCY, latency(streams=1)),
    f"{ROW}13": three(
        LATENCY, said(LATENCY, header(lambda data: data["testbed"]["nodes"].update(tester={"kind": "ssh"})))
    ),
}
NOT_YET: frozenset[str] = frozenset()
