"""What every process of these tests holds, for they run side by side."""

from tests.awake import one_limit_of_latency

__all__ = ["one_limit_of_latency"]
