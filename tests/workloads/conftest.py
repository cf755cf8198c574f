"""What tests of workloads need: CPUs that do not halt, and a testbed."""

from tests.awake import cpus_kept_awake, one_limit_of_latency
from tests.contract.streams_support import bed

__all__ = ["bed", "cpus_kept_awake", "one_limit_of_latency"]
