"""What every test of a driver needs: CPUs that do not halt, and folders that no test beside it uses."""

from tests.awake import cpus_kept_awake
from tests.beside import folders_of_its_own

__all__ = ["cpus_kept_awake", "folders_of_its_own"]
