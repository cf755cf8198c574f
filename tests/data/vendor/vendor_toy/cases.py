"""The test cases of the vendor's suite."""

from bmwg.methodology.suites import Case

SUITE = "vendor-toy"
CASES = (
    Case(test_id="TOY-TPUT-1.1", suite=SUITE, measurement="throughput", path="l2-node"),
    Case(test_id="TOY-TPUT-1.2", suite=SUITE, measurement="throughput", path="pvp"),
    Case(test_id="TOY-LOSS-1.1", suite=SUITE, measurement="toy_loss", path="l2-node"),
    Case(test_id="TOY-RESET-1.1", suite=SUITE, measurement="reset_bridge-pause", path="pvp"),
)
