"""The three runs of each rule of RFC 9004."""

from __future__ import annotations

from foreign import header, outcomes, said, spec, trials, value
from runs import BURSTS, TPUT, paths, run
from testers import Stalled, Watched
from three import Three

from bmwg.methodology.benchmarks.back_to_back import METRIC
from bmwg.methodology.records import RESIDUAL_WAIT

THROUGHPUT = "throughput.rfc2544_26_1"
SEVEN = (64, 128, 256, 512, 1024, 1280, 1518)
SEARCHES = {"repetitions": 2, "max_burst_s": 5.0, "step_frames": 10}
NONE = run(TPUT)  # no burst


def bursts(*, sizes=(64,), tester=None, device=None, trial=None, base="rfc2544", **settings):
    """Make a run with searches for bursts; `settings` are those of the benchmark."""
    profile = {"paths": paths(*sizes), "benchmarks": {"back_to_back": SEARCHES | settings}}
    if trial is not None:
        profile["trial"] = trial
    more = {} if tester is None else {"tester": tester}
    return run(BURSTS, base=base, profile=profile, device=device or {}, **more)


GOOD = bursts()
SHORT = bursts(max_burst_s=1.0)
LONG = bursts(max_burst_s=30.0, repetitions=1, step_frames=1000)


def on_link(data, journal, platform):
    """Note the link whose maximum frame rate is the one that the bursts had, and use it."""
    rate = next(one["spec"]["load_fps"] for one in journal if one["metric"] == METRIC)
    data["medium"] = {"kind": "ethernet", "line_rate_bps": rate * 8 * (64 + 20)}


def of_link(rate_bps):
    return said(
        GOOD, header(lambda data: data.update(medium={"kind": "ethernet", "line_rate_bps": rate_bps}))
    )


def ports(*names):
    return said(GOOD, header(lambda data: data["testbed"]["tester"].update(ports=list(names))))


def listened(seconds):
    """Let the tester have listened that long after each burst."""
    return trials(METRIC, lambda one: one["result"]["auxiliary"].update({RESIDUAL_WAIT: int(seconds * 1e9)}))


def lossy_throughput(data, journal, platform):
    """Let the throughput rest on trials that lost a frame."""
    seqs = {
        seq
        for one in data["outcomes"]
        if one["metric"] == THROUGHPUT
        for seq in one["bounds"]["lower"]["trials"]
    }
    for one in journal:
        if one["seq"] in seqs:
            stream = one["result"]["streams"][0]
            stream["received_frames"] -= 1
            stream["latency"] = {"buckets": [], "sum_ns": 0, "min_ns": None, "max_ns": None}


def quality(old, new):
    """Say something else in a remark."""
    return outcomes(
        METRIC, lambda one: one.update(quality=[text.replace(old, new) for text in one["quality"]])
    )


def second_search_shorter(data, journal, platform):
    """Let the second search begin with another burst."""
    mine = [one for one in journal if one["metric"] == METRIC and one["phase"] == "burst 2"]
    mine[0]["spec"]["duration_s"] /= 2
    stream = mine[0]["result"]["streams"][0]
    for name in ("intended_frames", "sent_frames", "received_frames", "effective_duration_ns"):
        stream[name] //= 2
    stream["latency"] = {"buckets": [], "sum_ns": 0, "min_ns": None, "max_ns": None}


def gone(metric):
    def change(one):
        one["values"] = [number for number in one["values"] if not number["metric"].startswith(metric)]

    return change


def three(met, not_met, not_applicable=NONE):
    return Three(met=met, not_met=not_met, not_applicable=not_applicable)


def declared(**laboratory):
    product = {"name": "x", "version": "1"}
    document = {"schema": "submission/1.0", "organization": "x", "product": product, "contact": ["x"]}
    submission = document | {"laboratory": laboratory}
    profile = {"paths": paths(64), "benchmarks": {"back_to_back": SEARCHES}}
    return run(BURSTS, profile=profile, submission=submission)


ROW = "RFC9004-"
CASES: dict[str, Three] = {
    f"{ROW}3-02": three(GOOD, said(GOOD, trials(METRIC, spec(mix_octets=[64, 64])))),
    f"{ROW}5-01": three(GOOD, ports("tester/p0")),
    f"{ROW}5-03": three(said(GOOD, on_link), of_link(10_000_000_000)),
    f"{ROW}5-04": three(
        run(TPUT, BURSTS, profile={"paths": paths(*SEVEN), "benchmarks": {"back_to_back": SEARCHES}}), GOOD
    ),
    f"{ROW}5-05": three(GOOD, said(GOOD, trials(METRIC, spec(flows=7)))),
    f"{ROW}5-06": three(GOOD, said(GOOD, lossy_throughput)),
    f"{ROW}5-07": three(GOOD, said(GOOD, outcomes(METRIC, value(f"{METRIC}.max", number=7)))),
    f"{ROW}5-08": three(bursts(tester=Watched), bursts(tester=Stalled)),
    f"{ROW}6.2-02": three(GOOD, said(GOOD, listened(1.9))),
    f"{ROW}6.2-03": three(LONG, said(LONG, listened(10)), SHORT),
    f"{ROW}6.2-05": three(GOOD, bursts(max_burst_s=0.1, device={"knee_fps": 3000, "tester_limit_fps": 5000})),
    f"{ROW}6.2-07": three(GOOD, said(GOOD, second_search_shorter)),
    f"{ROW}6.2-08": three(GOOD, said(GOOD, quality("2 trials", "3 trials"))),
    f"{ROW}6.2-09": three(GOOD, said(GOOD, quality("step 10", "step 70"))),
    f"{ROW}6.3-01": three(GOOD, bursts(repetitions=1)),
    f"{ROW}6.3-02": three(GOOD, said(GOOD, quality("each: ", "each: 1, "))),
    f"{ROW}6.4-04": three(
        GOOD, said(GOOD, outcomes(METRIC, value("buffer_time.rfc9004.corrected", number=1)))
    ),
    f"{ROW}6.4-05": three(said(GOOD, on_link), GOOD),
    f"{ROW}7-01": three(GOOD, said(GOOD, outcomes(METRIC, value(METRIC, metric="else")))),
    f"{ROW}7-02": three(GOOD, said(GOOD, quality("2 searches", "50 searches"))),
    f"{ROW}7-03": three(GOOD, said(GOOD, outcomes(METRIC, gone(f"{METRIC}.deviation")))),
    f"{ROW}7-04": three(GOOD, said(GOOD, outcomes(METRIC, gone("buffer_time.rfc9004.corrected")))),
    f"{ROW}7-05": three(GOOD, said(GOOD, quality("bursts up to", "bursts to"))),
    f"{ROW}8-01": three(
        GOOD,
        said(GOOD, header(lambda data: data["testbed"]["nodes"].update(tester={"kind": "ssh"}))),
    ),
    f"{ROW}8-02": three(
        declared(special_capabilities="none"), declared(special_capabilities="a benchmark mode")
    ),
    f"{ROW}8-03": three(declared(other_security="none"), declared(other_security="no firewall")),
}
NOT_YET: frozenset[str] = frozenset()
