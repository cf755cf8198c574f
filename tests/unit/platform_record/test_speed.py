"""What the doctor makes of CPUs that count rounds in windows: pure, with made counts."""

import pytest

from bmwg.drivers.platform_record.doctor import speed
from bmwg.drivers.platform_record.doctor.speed import Speed


def test_one_slow_or_fast_window_of_many_says_nothing():
    assert speed.steadiness([1000] * 28 + [100, 9000]) == 1.0
    assert speed.findings(Speed(rounds=((0, (1000,) * 28 + (100, 9000)),))) == []


@pytest.mark.parametrize(("slow", "found"), [(801, 0), (799, 1)])
def test_a_tenth_of_slow_windows_is_a_finding_below_four_fifths(slow, found):
    counts = (slow,) * 15 + (1000,) * 15
    told = speed.findings(Speed(rounds=((0, (1000,) * 30), (3, counts))))
    assert len(told) == found
    for one in told:
        assert one.finding_id == "DOC-12"
        assert one.what.endswith("CPU 3 to 80%")


def test_each_cpu_stands_in_the_line():
    (line,) = speed.lines(Speed(rounds=((0, (500,) * 30), (1, (500,) * 15 + (1000,) * 15))))
    assert "windows of 0.1 s" in line
    assert line.endswith("CPU 0 100%, CPU 1 50%")


def test_what_could_not_be_measured_is_said():
    found = Speed(not_measured="no CPU is here")
    assert speed.lines(found) == ["the CPUs' speed was not measured: no CPU is here"]
    assert speed.findings(found) == []
