"""The rhythms of several senders move against each other, so a full queue has no favourite (src/phase.h)."""

import ctypes
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from bmwg.drivers.traffic.embedded import build

PHASE_FRAMES = 64
FRAMES = 100 * PHASE_FRAMES
SEED = 2889


@pytest.fixture(scope="module")
def phase_of(tmp_path_factory):
    """The function itself, as the tester has it."""
    if not shutil.which("cc"):
        pytest.skip("lacks cc")
    folder = tmp_path_factory.mktemp("phase")
    source = folder / "phase.c"
    source.write_text(
        '#include "phase.h"\ndouble phase(uint64_t s, uint32_t p, uint64_t n) { return phase_of(s, p, n); }\n'
    )
    include = f"-I{Path(build.__file__).parent / 'src'}"
    made = folder / "phase.so"
    subprocess.run(["cc", "-shared", "-fPIC", include, source, "-o", made], check=True, timeout=60)
    function = ctypes.CDLL(str(made)).phase
    function.argtypes = [ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64]
    function.restype = ctypes.c_double
    return function


def test_a_phase_is_below_an_interval_and_moves_slowly(phase_of):
    phases = [phase_of(SEED, 3, number) for number in range(FRAMES)]
    assert all(0 <= phase < 1 for phase in phases)
    assert max(abs(after - before) for before, after in pairwise(phases)) <= 1 / PHASE_FRAMES
    assert {int(10 * phase) for phase in phases} == set(range(10))


def test_ports_and_seeds_have_phases_of_their_own(phase_of):
    ways = [(SEED, 0), (SEED, 1), (SEED + 1, 0)]
    drawn = [tuple(phase_of(seed, port, 64 * n) for n in range(50)) for seed, port in ways]
    assert len(set(drawn)) == 3
    assert drawn[0] == tuple(phase_of(SEED, 0, 64 * n) for n in range(50))


def losses(arrivals, room_per_interval):
    """Lose what comes to a policer without a token; return how many of each of two senders."""
    lost, tokens, last = [0, 0], 0.0, 0.0
    for at, sender in sorted(arrivals):
        tokens = min(2.0, tokens + (at - last) * room_per_interval)
        last = at
        if tokens >= 1:
            tokens -= 1
        else:
            lost[sender] += 1
    return lost


@pytest.mark.parametrize("share", [1.01, 1.25, 1.5, 1.9])
def test_two_senders_to_one_policer_lose_alike(phase_of, share):
    """Known truth: of two alike each loses half of what is lost. In one rhythm one of them loses it all."""
    in_one = [(float(number), sender) for number in range(FRAMES) for sender in range(2)]
    moving = [(at + phase_of(SEED, sender, int(at)), sender) for at, sender in in_one]
    first, second = losses(in_one, share)
    assert first <= 2
    assert second > (2 - share) * FRAMES * 0.98
    first, second = losses(moving, share)
    assert 0.35 < first / (first + second) < 0.65
