"""What two runs on one machine cannot share: CPUs and lab ports, reserved before a run touches anything.

A reservation is a lock on a file, which the kernel drops with the process that holds it, however that
ends. Ids: LOCK-01 another run has it, LOCK-02 the lock's folder cannot be used, LOCK-03 what an ended run
left still works on this machine.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bmwg.drivers.nodes import process
from bmwg.drivers.ports import pci_port
from bmwg.drivers.testbed.file import SIMULATED, Testbed
from bmwg.drivers.undo.ledger import INDEX_DIR, at_work
from bmwg.methodology.errors import TestbedError

LOCK_DIR = Path("/run/bmwg/locks")


def claims(testbed: Testbed) -> tuple[str, ...]:
    """Name what a run on this testbed has for itself: CPUs of this machine, lab ports."""
    if testbed.tester.driver == SIMULATED:
        return ()
    cpus = {*testbed.tester_cpus_here, *testbed.dut_cpus_here}
    return (*claims_here(cpus), *port_claims(testbed))


def port_claims(testbed: Testbed) -> tuple[str, ...]:
    """Name a testbed's lab ports on this machine, by each name of their NICs: interface and PCI address."""
    return claims_here((), pci_port.names_of_all(testbed.lab_ports_here))


@contextmanager
def reserve(
    testbed: Testbed,
    *,
    spare: Path | None = None,
    lock_dir: Path = LOCK_DIR,
    index_dir: Path = INDEX_DIR,
) -> Iterator[tuple[str, ...]]:
    """Hold the testbed's claims while the block runs; refuse at once, holding nothing, when one is taken.

    `spare` is the folder of a run that is about to be continued: what it left is cleared away by that.
    """
    with reserve_claims(claims(testbed), spare=spare, lock_dir=lock_dir, index_dir=index_dir) as held:
        yield held


def claims_here(cpus: Collection[int], ports: Collection[str] = ()) -> tuple[str, ...]:
    """Name these CPUs of this machine and these ports of lab hosts, for what names none in a testbed file."""
    return (*(f"CPU {cpu}" for cpu in sorted(cpus)), *(f"lab port {port}" for port in ports))


@contextmanager
def reserve_claims(
    wanted: tuple[str, ...],
    *,
    spare: Path | None = None,
    lock_dir: Path = LOCK_DIR,
    index_dir: Path = INDEX_DIR,
) -> Iterator[tuple[str, ...]]:
    """Hold what is named while the block runs, as `reserve` does."""
    if not wanted or os.geteuid() != 0:  # without root no node is opened; that is refused by name later
        yield ()
        return
    with ExitStack() as stack:
        for claim in wanted:
            stack.enter_context(held(claim, lock_dir))
        _refuse_leftovers(index_dir, spare)
        yield wanted


@contextmanager
def held(claim: str, lock_dir: Path) -> Iterator[None]:
    """Hold one thing by its name while the block runs. Raises TestbedError LOCK-01, LOCK-02."""
    name = hashlib.sha256(claim.encode()).hexdigest()[:16] if "/" in claim else claim.replace(" ", "-")
    path = lock_dir / f"{name}.lock"
    try:
        lock_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise TestbedError(
            "LOCK-02", f"{path}: nothing was started", expected="a file to lock", found=error.strerror or ""
        ) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise _taken(claim, os.read(descriptor, 4096)) from error
        who = {"pid": os.getpid(), "start_ticks": process.start_ticks(os.getpid())}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(who).encode(), 0)
        yield
    finally:
        os.close(descriptor)  # the file stays: removing it would let a third process lock another one


def _taken(claim: str, said: bytes) -> TestbedError:
    try:
        holder = f"process {int(json.loads(said)['pid'])}"
    except (ValueError, TypeError, KeyError):
        holder = "another process"
    return TestbedError(
        "LOCK-01",
        f"{claim} of this machine; nothing was started",
        expected="no other run that uses it",
        found=f"a run of {holder}",
        hint="wait for that run, or name other CPUs and ports in the testbed file",
    )


def _refuse_leftovers(index_dir: Path, spare: Path | None) -> None:
    """LOCK-03 when pods or processes of a run that has ended still run: they would take part in a result."""
    for folder in at_work(index_dir):
        if spare is not None and folder == spare.absolute():
            continue
        raise TestbedError(
            "LOCK-03",
            "this machine; nothing was started",
            expected="nothing of earlier runs at work",
            found=f"pods or processes of the run in {folder}, which has ended",
            hint=f"bmwg cleanup {folder}",
        )
