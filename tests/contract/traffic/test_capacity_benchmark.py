"""The benchmark beside dpdk-testpmd gives a figure in a second too, however long programs take to begin."""

import shutil

import pytest
import tester_bed as bed
import tester_capacity as capacity

pytestmark = pytest.mark.quiet


def test_only_rates_since_the_first_frame_count():
    text = "".join(f"  Rx-pps:      {rate}   Rx-bps: 1\n" for rate in (0, 0, 17, 600, 610, 5))
    assert capacity.printed_fps(text) == [17, 600, 610, 5]
    assert capacity.printed_fps("") == []


def test_a_second_is_enough(tmp_path):
    if not shutil.which("dpdk-testpmd"):
        pytest.skip("lacks dpdk-testpmd: apt-get install dpdk")
    with bed.direct("af_xdp") as ports:
        assert capacity.testpmd_fps(ports, 1.0, tmp_path, 64) > 0
