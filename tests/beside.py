"""A fixture: tests that run in several processes at once each have the folders that a machine has once.

Those are the locks of a machine's CPUs, the index of ledgers and the names of network namespaces. What a test
starts inherits them. A process that is alone keeps the machine's own.
"""

import ctypes
import os
import subprocess
from pathlib import Path

import pytest

FOLDERS = ("/run/bmwg", "/run/netns", "/var/lib/bmwg")
_CLONE_NEWNS = 0x20000


@pytest.fixture(scope="session", autouse=True)
def folders_of_its_own():
    """Enter a mount namespace with these folders empty, for the rest of this process."""
    if "PYTEST_XDIST_WORKER" not in os.environ or os.geteuid() != 0:
        return
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), "no mount namespace for a test process")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True, timeout=10)
    for folder in FOLDERS:
        Path(folder).mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=True, timeout=10)
