"""What is counted of a guest on its host: its emulator, and the kernel's threads that carry its frames."""

from __future__ import annotations

import subprocess
import sys

from bmwg.drivers.machines import qemu_use

BURNT_NS = 100_000_000
# A process by the name of such a thread, as Linux before 6.4 shows it: it works for a while, then waits.
_NAMED = """
import ctypes, sys, time
ctypes.CDLL(None).prctl(15, f"vhost-{sys.argv[1]}".encode(), 0, 0, 0)
while time.process_time_ns() < int(sys.argv[2]):
    pass
print("done", flush=True)
sys.stdin.read()
"""


def test_the_kernel_s_threads_that_carry_a_guest_s_frames_are_in_its_time() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as emulator:
        alone_ns = qemu_use.use_of(emulator.pid)["cpu_ns"]
        words = [sys.executable, "-c", _NAMED, str(emulator.pid), str(BURNT_NS)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as named:
            assert named.stdout.readline() == b"done\n"
            with_it_ns = qemu_use.use_of(emulator.pid)["cpu_ns"]
            named.stdin.close()
        assert with_it_ns - alone_ns >= BURNT_NS // 2  # as of the kernel's last tick
        emulator.stdin.close()
