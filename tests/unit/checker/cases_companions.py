"""The three runs of each rule of RFC 6201, RFC 6985 and the vsperf test design."""

from __future__ import annotations

from foreign import Change, said, undescribed
from runs import IMIX, QUALIFIED, RESET_LINK, TPUT, run
from testers import Dying
from three import Three

RESET = {
    "suites": {
        "rfc2544": {
            "paths": [
                {
                    "path": "pvp",
                    "hosting": "pod",
                    "function": "kernel-l3",
                    "networks": ["bridge"],
                    "frame_octets": [64],
                }
            ]
        }
    },
    "benchmarks": {"reset": {"repetitions": 3}},
}
NONE = run(TPUT)
RESETS = run(RESET_LINK, profile=RESET)
POD = run(TPUT, profile={"suites": RESET["suites"]})
MIX = run(IMIX)


def named(genome, sizes) -> Change:
    """Let each mix have another genome, whose sequence of sizes (octets) its trials say."""

    def change(data, journal, platform):
        ids = {}
        for one in (*data["outcomes"], *data["plan"]):
            cell = one["cell"]
            if old := cell.get("imix"):
                new = cell["cell_id"].replace(f"imix-{old}", f"imix-{genome}")
                ids[cell["cell_id"]] = new
                cell |= {"imix": genome, "cell_id": new}
        for one in journal:
            if one["cell"] in ids:
                one["cell"] = ids[one["cell"]]
                one["spec"]["mix_octets"] = list(sizes)

    return change


ROW = "SUP-"
CASES: dict[str, Three] = {
    f"{ROW}6201-1.4-03": Three(met=RESETS, not_met=said(RESETS, undescribed), not_applicable=NONE),
    f"{ROW}6201-1.4-04": Three(
        met=RESETS,
        not_met=run(RESET_LINK, profile=RESET | {"benchmarks": {"reset": {"repetitions": 1}}}),
        not_applicable=NONE,
    ),
    f"{ROW}6985-4-02": Three(
        met=said(MIX, named("2a1z", (64, 64, 1518))),
        not_met=said(MIX, named("2a1z", (64, 1518))),
        not_applicable=MIX,
    ),
    f"{ROW}6985-5": Three(
        met=said(MIX, named("2a1k", (64, 64, 1518))),
        not_met=said(MIX, named("2a1g", (64, 128, 1518))),
        not_applicable=MIX,
    ),
    "LTD-3.2.2.1.3-02": Three(met=NONE, not_met=run(TPUT, tester=Dying), not_applicable=run(QUALIFIED)),
    "LTD-3.2.2.3.4-02": Three(
        met=POD, not_met=run(TPUT, profile={"suites": RESET["suites"]}, tester=Dying), not_applicable=NONE
    ),
}
NOT_YET: frozenset[str] = frozenset()
