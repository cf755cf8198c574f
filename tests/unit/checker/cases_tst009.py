"""The three runs of each rule of ETSI GS NFV-TST 009."""

from __future__ import annotations

from foreign import outcomes, said, spec, trials, undescribed, value, without
from runs import LATENCY, TPUT, TST009, paths, run
from testers import Silent, Untimed
from three import Three

from bmwg.methodology.search.tst009 import METRIC

ENVELOPE = "tester.envelope"
NONE = run(TPUT)  # no search of TST 009
GOOD = run(TST009, base="tst009")
TIMED = run(TPUT, TST009, LATENCY)


def quality(old, new):
    """Say something else in a remark."""
    return outcomes(
        METRIC, lambda one: one.update(quality=[text.replace(old, new) for text in one["quality"]])
    )


def first_lossy(data, journal, platform):
    """Let the search begin at another load."""
    one = next(one for one in journal if one["metric"] == METRIC)
    one["spec"]["load_fps"] += 20_000


ROW = "TST009-"
CASES: dict[str, Three] = {
    f"{ROW}6.3": Three(met=GOOD, not_met=said(GOOD, undescribed), not_applicable=NONE),
    f"{ROW}7": Three(met=GOOD, not_met=run(TST009, base="tst009", tester=Untimed), not_applicable=NONE),
    f"{ROW}8-01": Three(
        met=GOOD, not_met=said(GOOD, outcomes(METRIC, value(METRIC, number=1))), not_applicable=NONE
    ),
    f"{ROW}9-01": Three(
        met=TIMED,
        not_met=run(TPUT, TST009, LATENCY, tester=Silent),
        not_applicable=GOOD,
    ),
    f"{ROW}12.1": Three(met=GOOD, not_met=said(GOOD, without(ENVELOPE)), not_applicable=NONE),
    f"{ROW}12.3": Three(met=GOOD, not_met=said(GOOD, first_lossy), not_applicable=NONE),
    f"{ROW}12.3.3-04": Three(
        met=GOOD, not_met=said(GOOD, quality("step 10000", "step 20000")), not_applicable=NONE
    ),
    f"{ROW}all-01": Three(met=GOOD, not_met=said(GOOD, trials(METRIC, spec(flows=7))), not_applicable=NONE),
    f"{ROW}all-02": Three(
        met=run(
            TST009,
            base="tst009",
            profile={"traffic": {"directions": ["both"]}, "paths": paths(64, 128, 256, 512, 1518)},
        ),
        not_met=GOOD,
        not_applicable=NONE,
    ),
}
NOT_YET: frozenset[str] = frozenset()
