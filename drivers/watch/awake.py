"""Keep this machine's CPUs from halting while something is measured (docs/adr/0230).

A request on /dev/cpu_dma_latency lasts as long as the file is open, and a spinner as long as its parent: both
end with the process that made them, however it ends. There is no setting to put back.
"""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bmwg.drivers.nodes import cgroups
from bmwg.drivers.platform_record.source import LocalSource
from bmwg.drivers.platform_record.translation import maybe_translated
from bmwg.methodology.trial.keep_awake import Held, KeepAwake

DEVICE = Path("/dev/cpu_dma_latency")
IDLE_DRIVER = Path("/sys/devices/system/cpu/cpuidle/current_driver")
REQUEST_US = 0  # no state that takes time to leave: idle CPUs poll
NO_REQUEST_US = (
    2_000_000_000  # what the kernel answers while nobody has asked (PM_QOS_CPU_LATENCY_DEFAULT_VALUE)
)
_VALUE = struct.Struct("=i")
_START_S = 5.0  # choice: a cold interpreter on a busy machine takes about a second
_END_S = 5.0

# Ends with its parent: it looks every few milliseconds. SCHED_IDLE yields to processes of the same cgroup
# alone: in a login session or a container a spinner takes the whole group's share from pods, whose groups lie
# beside it. So it goes to the root, where it yields to every group. There the kernel may share CPU time by
# session first, so the session gets the lowest share. Where either is refused it spins all the same.
_SPINNER = """
import os, sys
cpu, parent = int(sys.argv[1]), int(sys.argv[2])
os.sched_setaffinity(0, {cpu})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
for setting, wanted in ((sys.argv[3], "0"), ("/proc/self/autogroup", "19")):
    try:
        with open(setting, "w") as file:
            file.write(wanted)
    except OSError:
        pass
os.write(1, b"spinning")
os.close(1)
while os.getppid() == parent:
    for _ in range(100000):
        pass
"""

_standing: list[Awake] = []


class Awake:
    """One request while it is held, as a context manager; `held` says what came of it."""

    def __init__(self, asked: KeepAwake, cpus: Iterable[int]) -> None:
        """Ask for it; `cpus` are those of tester and DUT, which a spinner would run on."""
        self._asked = asked
        self._cpus = tuple(sorted(set(cpus)))
        self._spinners: list[subprocess.Popen[bytes]] = []
        self._stack = ExitStack()
        self.held = Held(asked=asked, held=KeepAwake.NONE)

    def __enter__(self) -> Awake:
        reasons: list[str] = []
        ways = {
            KeepAwake.PM_QOS: (KeepAwake.PM_QOS, KeepAwake.SPIN),
            KeepAwake.SPIN: (KeepAwake.SPIN,),
            KeepAwake.NONE: (),
        }[self._asked]
        if ways and maybe_translated(LocalSource()):
            reasons.append("a CPU that QEMU translates takes the time of others when it polls")
            ways = ()
        for way in ways:
            refused = self._request() if way is KeepAwake.PM_QOS else self._spin()
            if not refused:
                cpus = self._cpus if way is KeepAwake.SPIN else ()
                self.held = Held(asked=self._asked, held=way, reason="; ".join(reasons), cpus=cpus)
                break
            reasons.append(refused)
        else:
            self.held = Held(asked=self._asked, held=KeepAwake.NONE, reason="; ".join(reasons))
        _standing.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _standing.remove(self)
        self._stack.close()

    def now(self) -> Held:
        """What is held at this moment: spinners that ended hold nothing."""
        if all(spinner.poll() is None for spinner in self._spinners):
            return self.held
        return Held(asked=self._asked, held=KeepAwake.NONE, reason="a spinner ended before its time")

    def _request(self) -> str:
        """Open the device with the request; return why it does not hold, "" when it does."""
        if _idle_driver() in ("", "none"):
            return f"{DEVICE}: the kernel has no driver of idle states that would heed it"
        try:
            descriptor = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            return f"{DEVICE}: {error.strerror}"
        try:
            os.write(descriptor, _VALUE.pack(REQUEST_US))
            found = _VALUE.unpack(os.pread(descriptor, _VALUE.size, 0))[0]
        except (OSError, struct.error) as error:
            os.close(descriptor)
            return f"{DEVICE}: {error}"
        if found > REQUEST_US:
            os.close(descriptor)
            return f"{DEVICE}: {found} us are in force after {REQUEST_US} us were asked for"
        self._stack.callback(os.close, descriptor)
        return ""

    def _spin(self) -> str:
        """Start a spinner on each CPU; return why not, "" when all run."""
        procs = cgroups.root_of("cpu") / "cgroup.procs"
        with ExitStack() as begun:
            for cpu in self._cpus:
                spinner = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _SPINNER, str(cpu), str(os.getpid()), str(procs)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    cwd="/",
                )
                begun.callback(_end, spinner)
                if not _spins(spinner):
                    self._spinners.clear()  # `begun` ends them: `now` is to give this reason
                    return f"no process of idle priority could run on CPU {cpu}"
                self._spinners.append(spinner)
            self._stack.push(begun.pop_all())
        return "" if self._cpus else "no CPU was named"


def current() -> Held | None:
    """What this process holds now; None when it was asked for nothing."""
    return _standing[-1].now() if _standing else None


def limit_us(device: Path = DEVICE) -> int | None:
    """The limit (us) on the time to leave an idle state that is in force, whoever asked for it.

    None when nobody did, or when it cannot be read.
    """
    try:
        with device.open("rb", buffering=0) as stream:
            found = int(_VALUE.unpack(stream.read(_VALUE.size) or b"")[0])
    except (OSError, struct.error):
        return None
    return None if found >= NO_REQUEST_US else found


@contextmanager
def kept_awake(asked: KeepAwake, cpus: Iterable[int]) -> Iterator[Held]:
    """Hold it until the block ends."""
    with Awake(asked, cpus) as awake:
        yield awake.held


_of_node = ExitStack()


def hold(*, asked: str) -> dict[str, object]:
    """Node function: have the agent hold it on its machine until `release` or the agent's end."""
    release()
    awake = _of_node.enter_context(Awake(KeepAwake(asked), os.sched_getaffinity(0)))
    return awake.held.as_json()


def release() -> None:
    """Node function: hold nothing any more."""
    _of_node.close()


def _idle_driver() -> str:
    try:
        return IDLE_DRIVER.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _spins(spinner: subprocess.Popen[bytes]) -> bool:
    """Whether a spinner has said within its time that it runs."""
    assert spinner.stdout is not None
    os.set_blocking(spinner.stdout.fileno(), False)
    end_s = time.monotonic() + _START_S
    while time.monotonic() < end_s:
        if said := spinner.stdout.read():
            return bool(said)
        if spinner.poll() is not None:
            return False
        time.sleep(0.002)
    return False


def _end(spinner: subprocess.Popen[bytes]) -> None:
    spinner.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        spinner.wait(_END_S)
    if spinner.stdout is not None:
        spinner.stdout.close()
