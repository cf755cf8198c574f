"""The three runs of each rule of RFC 9971."""

from __future__ import annotations

from foreign import bound, header, outcomes, put, said, spec, trials, undescribed, value, without
from runs import MLR, TPUT, paths, run
from testers import Hasty, Short, Silent, Timeless, Unsent
from three import Three

from bmwg.methodology.mlrsearch.outcome import METRIC
from bmwg.reports.checker.clauses.rfc9971 import FACTOR

ENVELOPE = "tester.envelope"
NONE = run(TPUT)  # no search with goals
GOOD = run(MLR, base="rfc9971")
BOTH = run(MLR, base="rfc9971", profile={"traffic": {"directions": ["both"]}})
QUICK = run(MLR, base="quick", deviations=("RFC2544-23-01",))
UNSENT = run(MLR, base="rfc9971", tester=Unsent)
SHORT = run(MLR, base="rfc9971", tester=Short)
TIMELESS = run(MLR, base="rfc9971", tester=Timeless)
CEILING = run(MLR, base="rfc9971", device={"knee_fps": 9_000_000})
TWO = run(MLR, base="rfc9971", profile={"paths": paths(64, 512)})


def goal(**changes):
    made = {"name": "a", "goal_final_trial_duration_s": 60, "goal_duration_sum_s": 60}
    made |= {"goal_loss_ratio": 0, "goal_exceed_ratio": 0, "goal_width": 0.01}
    return made | changes


def goals(*given):
    return run(MLR, base="rfc9971", profile={"search": {"goals": list(given)}})


def coded(code):
    """Let the first result be of a goal with this code."""

    def change(data, journal, platform):
        one = next(one for one in data["outcomes"] if one["metric"].startswith(METRIC))
        one["metric"] = f"{METRIC}.{code}"

    return said(GOOD, change)


def as_sums(one):
    """Let a trial's load be that of both directions."""
    one["spec"]["load_fps"] *= 2


def factor(one):
    one["values"].append({"metric": FACTOR, "number": 2, "unit": "interfaces"})


def second_load(divisor):
    def change(one):
        of = divisor if one["seq"] % 2 else 2
        one["spec"] |= {"then_load_fps": one["spec"]["load_fps"] // of, "then_duration_s": 60.0}

    return change


def uneven(divisor):
    """Let the second direction have a part of the frames."""

    def change(one):
        of = divisor if one["seq"] % 2 else 2
        second = one["result"]["streams"][1]
        for name in ("intended_frames", "sent_frames", "received_frames"):
            second[name] //= of
        second["latency"] = {"buckets": [], "sum_ns": 0, "min_ns": None, "max_ns": None}

    return change


def first(change):
    """Change one trial of the searches alone."""

    def changed(data, journal, platform):
        change(next(one for one in journal if one["metric"] == METRIC))

    return changed


def doubled(one):
    """Count each frame that came twice."""
    for stream in one["result"]["streams"]:
        stream["received_frames"] *= 2


def short_as_upper(data, journal, platform):
    """Let trials that were short prove the upper bound."""
    short = [one for one in journal if one["assessment"]["validity"] == "sent_short"]
    for one in data["outcomes"]:
        if one["metric"].startswith(METRIC):
            one["bounds"]["upper"] = {
                "load_fps": short[0]["spec"]["load_fps"],
                "trials": [trial["seq"] for trial in short],
            }


def as_regular(one):
    """Give a result that is none as a plain number."""
    load = one["bounds"]["lower"]["load_fps"]
    number = {"metric": one["metric"], "number": load, "unit": "frames/s"}
    one |= {"type": "measured", "values": [number], "quality": [], "reason": "", "statement": ""}


def turned(data, journal, platform):
    data["outcomes"].reverse()


def second_cell_gone(data, journal, platform):
    kept = [one for one in data["outcomes"] if not one["metric"].startswith(METRIC)]
    mine = [one for one in data["outcomes"] if one["metric"].startswith(METRIC)]
    cell = mine[-1]["cell"]["cell_id"]
    data["outcomes"] = kept + [one for one in mine if one["cell"]["cell_id"] != cell]


def unmarked(one):
    one |= {"quality": [], "reason": "", "statement": "no loss up to its highest load"}


def three(met, not_met, not_applicable=NONE):
    return Three(met=met, not_met=not_met, not_applicable=not_applicable)


ROW = "RFC9971-"
CASES: dict[str, Three] = {
    f"{ROW}4.3": three(GOOD, said(GOOD, outcomes(METRIC, value("", unit="kframes/s")))),
    f"{ROW}4.4.3-02": three(
        QUICK, said(QUICK, header(lambda data: data["profile"].update(deviations=[]))), GOOD
    ),
    f"{ROW}4.4.3-03": three(GOOD, QUICK),
    f"{ROW}4.4.3-04": three(GOOD, QUICK),
    f"{ROW}4.4.4.4-03": three(BOTH, said(BOTH, trials(METRIC, as_sums))),
    f"{ROW}4.4.4.4-04": three(
        said(BOTH, trials(METRIC, as_sums), outcomes(METRIC, factor)),
        said(BOTH, trials(METRIC, as_sums)),
        BOTH,
    ),
    f"{ROW}4.5.2-01": three(
        said(GOOD, trials(METRIC, second_load(2))), said(GOOD, trials(METRIC, second_load(3))), GOOD
    ),
    f"{ROW}4.5.2-02": three(
        said(BOTH, trials(METRIC, uneven(2))), said(BOTH, trials(METRIC, uneven(3))), BOTH
    ),
    f"{ROW}4.5.3": three(GOOD, said(GOOD, first(spec(loss_times=True)))),
    f"{ROW}4.5.4-01": three(GOOD, said(GOOD, first(spec(flows=7)))),
    f"{ROW}4.5.4-02": three(GOOD, said(GOOD, trials(METRIC, spec(flows=7)))),
    f"{ROW}4.5.5-01": three(GOOD, said(GOOD, trials(METRIC, doubled))),
    f"{ROW}4.5.5-02": three(GOOD, UNSENT),
    f"{ROW}4.5.5-03": three(UNSENT, said(UNSENT, outcomes(METRIC, put(quality=[]))), GOOD),
    f"{ROW}4.5.8-02": three(
        TIMELESS, said(TIMELESS, outcomes(METRIC, bound("lower", load_fps=100_000))), GOOD
    ),
    f"{ROW}4.5.8-03": three(GOOD, run(MLR, base="rfc9971", tester=Hasty)),
    f"{ROW}4.5.9-01": three(GOOD, TIMELESS),
    f"{ROW}4.6.1-01": three(GOOD, coded("0f60d0l0e")),
    f"{ROW}4.6.1-02": three(
        GOOD, goals(goal(), goal(name="b", goal_final_trial_duration_s=30, goal_loss_ratio=0.01))
    ),
    f"{ROW}4.6.2-01": three(GOOD, coded("60f0d0l0e")),
    f"{ROW}4.6.2-02": three(GOOD, coded("60f30d0l0e")),
    f"{ROW}4.6.3": three(GOOD, coded("60f60d100l0e")),
    f"{ROW}4.6.4-01": three(GOOD, coded("60f60d0l100e")),
    f"{ROW}4.6.4-02": three(GOOD, goals(goal(goal_exceed_ratio=0.4))),
    f"{ROW}4.6.5-03": three(
        said(
            GOOD,
            outcomes(METRIC, put(metric=f"{METRIC}.60f61d0l0e", reason="no result within max_trials (2000)")),
        ),
        coded("60f61d0l0e"),
        GOOD,
    ),
    f"{ROW}4.6.5-05": three(GOOD, goals(goal(goal_width=0.01, goal_loss_ratio=0.02))),
    f"{ROW}4.6.7-01": three(GOOD, coded("ndr")),
    f"{ROW}4.6.8-01": three(GOOD, said(GOOD, outcomes(METRIC, put(metric=f"{METRIC}.ndr")))),
    f"{ROW}4.6.8.1": three(
        GOOD,
        said(GOOD, outcomes(ENVELOPE, bound("lower", load_fps=300_000))),
        said(GOOD, without(ENVELOPE)),
    ),
    f"{ROW}4.6.8.2-01": three(
        GOOD, said(GOOD, header(lambda data: data["profile"]["search"].update(min_load_fps=850_000)))
    ),
    f"{ROW}4.6.8.2-02": three(
        GOOD,
        said(
            QUICK,
            header(
                lambda data: data["profile"].update(
                    search=data["profile"]["search"] | {"min_load_fps": 1},
                    latency=data["profile"]["latency"] | {"duration_s": 1.0},
                )
            ),
        ),
    ),
    f"{ROW}4.8.4.1-01": three(GOOD, said(GOOD, outcomes(METRIC, bound("upper"))), CEILING),
    f"{ROW}4.8.4.1-02": three(GOOD, said(GOOD, outcomes(METRIC, value(METRIC, number=5))), CEILING),
    f"{ROW}4.8.4.1-03": three(GOOD, said(GOOD, outcomes(METRIC, value("relevant_lower", number=5))), CEILING),
    f"{ROW}4.8.4.1-04": three(GOOD, said(GOOD, outcomes(METRIC, value("relevant_upper", number=5))), CEILING),
    f"{ROW}4.8.4.1-05": three(GOOD, said(GOOD, outcomes(METRIC, bound("lower", load_fps=100_000))), CEILING),
    f"{ROW}4.8.4.1-06": three(
        GOOD, said(GOOD, outcomes(METRIC, bound("upper", load_fps=2_000_000))), CEILING
    ),
    f"{ROW}4.8.4.2-02": three(CEILING, said(CEILING, outcomes(METRIC, as_regular)), GOOD),
    f"{ROW}4.8.4.3": three(GOOD, said(CEILING, outcomes(METRIC, unmarked))),
    f"{ROW}4.8.5-01": three(GOOD, said(GOOD, without(METRIC, 0))),
    f"{ROW}4.8.5-02": three(GOOD, said(GOOD, turned), goals(goal())),
    f"{ROW}4.8.6-01": three(TWO, said(TWO, second_cell_gone)),
    f"{ROW}4.9.1-01": three(GOOD, run(MLR, base="rfc9971", tester=Silent)),
    f"{ROW}4.9.1-02": three(GOOD, said(GOOD, without(ENVELOPE))),
    f"{ROW}4.9.1-03": three(said(SHORT, short_as_upper), SHORT, GOOD),
    f"{ROW}4.9.3-01": three(GOOD, said(GOOD, without(ENVELOPE))),
    f"{ROW}4.9.3-02": three(GOOD, said(GOOD, undescribed)),
    f"{ROW}4.9.3-03": three(GOOD, coded("60f61d0l0e")),
    f"{ROW}4.10.2-01": three(GOOD, QUICK),
    f"{ROW}4.10.3-01": three(GOOD, QUICK),
}
NOT_YET: frozenset[str] = frozenset()
