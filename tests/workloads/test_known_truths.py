"""Known truths of transport: what a shaper lets through is what TCP finds, within its headers."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest
from tests.contract.streams_support import needs, offered, path_of, spec, udp

from bmwg.drivers.workload.iperf3 import Iperf3
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import Way
from bmwg.methodology.records import Validity

pytestmark = [*needs("iperf3"), pytest.mark.slow]
RATE_BPS = 200_000_000
MTU, ETHERNET, IPV4, TCP, TIMES, UDP = 1500, 14, 20, 20, 12, 8
_TRIES = 3


def shaped(between, number: int) -> None:
    """Shape what leaves the node towards a pod; the qdisc counts frames with their Ethernet header."""
    at = next(one for one in between.crossed if one.at.endswith(f"host end of pod{number}"))
    tbf = ("root", "tbf", "rate", "200mbit", "burst", "32kb", "latency", "20ms")
    words = ["nsenter", "-t", str(at.place.pid), "-n", "tc", "qdisc", "add", "dev", at.interface, *tbf]
    subprocess.run(words, check=True, timeout=10)


@pytest.mark.parametrize(("way", "number"), [(Way.FORWARD, 1), (Way.REVERSE, 0)])
def test_tcp_finds_the_rate_of_a_shaper_less_its_headers(bed, way, number) -> None:
    """Of each frame of 1,514 octets that the shaper counts, 1,448 are payload."""
    expected_bps = RATE_BPS * (MTU - IPV4 - TCP - TIMES) / (MTU + ETHERNET)
    asked = spec(way=way, duration_s=5.0, omit_s=1)
    with path_of(bed, "p2p", "bridge").between_pods() as between:
        shaped(between, number)
        workload = Iperf3([bed.node("dut1")])
        found = []
        for _ in range(_TRIES):
            one = offered(workload, between, asked)
            assert STREAMS.assessed(asked, one).validity is Validity.VALID, one
            found.append(one.goodput_bps / expected_bps)
            if 0.98 <= found[-1] <= 1.005:
                return
    # a CPU that was away leaves the shaper's bucket full: less than the rate is then the truth, more never is
    assert max(found) <= 1.005, found
    pytest.skip(f"needs CPUs that are not taken away: {found} of the shaper's rate")


def test_datagrams_above_the_rate_of_a_shaper_are_lost_as_computed(bed) -> None:
    asked = replace(udp(duration_s=4.0), load_bps=300_000_000)
    expected_bps = RATE_BPS * 1400 / (1400 + UDP + IPV4 + ETHERNET)
    with path_of(bed, "p2p", "bridge").between_pods() as between:
        shaped(between, 1)
        found = offered(Iperf3([bed.node("dut1")]), between, asked)
    assert found.faults == ()
    assert found.goodput_bps <= expected_bps * 1.02
    sent_bps = found.sent_octets * 8e9 / found.elapsed_ns
    if sent_bps < expected_bps * 1.2:
        pytest.skip(f"needs CPUs that are not taken away: the sender offered {sent_bps / 1e6:.0f} Mbit/s")
    assert found.lost_ratio is not None
    assert found.lost_ratio >= 1 - expected_bps * 1.02 / sent_bps
