"""The test cases of the vendor's suite."""

from bmwg.methodology.suites import Case

CASES = (
    Case(test_id="TOY-TPUT-1.1", suite="vendor-toy", measurement="throughput", path="l2-node"),
    Case(test_id="TOY-TPUT-1.2", suite="vendor-toy", measurement="throughput", path="pvp"),
)
