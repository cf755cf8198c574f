"""What every test of a workload needs: CPUs that do not halt."""

from tests.awake import cpus_kept_awake

__all__ = ["cpus_kept_awake"]
