"""What a tester carries is told as a bare figure only where its search measured one."""

import pytest

from bmwg.cli.calibrate import table
from bmwg.cli.main import main


@pytest.mark.parametrize(
    ("search", "lossless", "said"),
    [
        ("measured", 900_000, " 900,000 "),
        ("unstable", 900_000, "900,000 (unstable)"),
        ("at_ceiling", 6_000_000, "6,000,000 (at ceiling)"),
        ("at_floor", None, "none (at floor)"),
    ],
)
def test_a_rate_that_no_search_measured_says_what_it_is(search, lossless, said):
    names = dict.fromkeys(("testbed", "driver", "io"), "x")
    rest = dict.fromkeys(("rate_error_ppm", "latency_p50_ns", "latency_floor_ns"))
    row = table([{**names, **rest, "search": search, "lossless_fps": lossless}]).splitlines()[1]
    assert said in row
    assert ("(" in row) is (search != "measured")


def test_a_frame_size_that_no_ethernet_has_is_refused_before_anything_is_made(capsys):
    assert main(["calibrate", "--frame-octets", "10"]) == 2
    assert "CAL-01" in capsys.readouterr().err
