"""Meters by files as a meter or a kernel writes them: read right, and refused by name."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

import pytest

from bmwg.drivers import registry
from bmwg.drivers.api.meters import Place
from bmwg.drivers.meters import file as file_meter
from bmwg.drivers.meters import rapl
from bmwg.drivers.meters.file import FileMeter
from bmwg.drivers.meters.rapl import RaplMeter
from bmwg.methodology.answers.power import Lack, used
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.resources.run.machines import Machines
from bmwg.resources.run.metering import NAME, idle, meter_of

S = 1_000_000_000
BEGAN_NS = 1_700_000_000 * S


def here(function, /, *args, **arguments):
    return function(*args, **arguments)


PLACE = Place(call=here)


class Clock:
    """The wall clock and the monotonic one of this machine, which only sleeping moves on."""

    def __init__(self) -> None:
        self.now_ns = 0

    def time_ns(self) -> int:
        return BEGAN_NS + self.now_ns

    def monotonic_ns(self) -> int:
        return self.now_ns

    def monotonic(self) -> float:
        return self.now_ns / S

    def sleep(self, duration_s: float) -> None:
        self.now_ns += round(duration_s * S)


class Double:
    """A meter double: it writes a sample each second of the clock, as far as that has gone."""

    def __init__(self, path: Path, clock: Clock, watts, *, until_s: float = 1e9, shift_s: float = 0) -> None:
        self.path, self.clock, self.watts, self.until_s, self.shift_s = path, clock, watts, until_s, shift_s
        self.written = itertools.count(-3)
        self.path.write_text("time,power_w\n")
        self.due = next(self.written)
        self.write()

    def write(self) -> None:
        with self.path.open("a") as told:
            while self.due * S <= self.clock.now_ns and self.due <= self.until_s:
                stamp = BEGAN_NS // S + self.due + self.shift_s
                told.write(f"{stamp:.3f},{self.watts(self.due)}\n")
                os.utime(self.path, ns=(BEGAN_NS + self.due * S,) * 2)
                self.due = next(self.written)
        os.utime(self.path, ns=(BEGAN_NS + min(self.due - 1, round(self.until_s)) * S,) * 2)


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(file_meter, "time", made)
    return made


def meter(path: Path, **options) -> FileMeter:
    return FileMeter({"path": str(path), "unit": "W", "period_s": 1, **options}, PLACE)


def measured(clock: Clock, path: Path, watts, *, window_s: float = 20, options=None, **double):
    """Have a window of so many seconds, in which the double writes as time goes on."""
    writes = Double(path, clock, watts, **double)
    reads = meter(path, **(options or {}))
    real = clock.sleep

    def sleep(duration_s: float) -> None:
        real(duration_s)
        writes.write()

    clock.sleep = sleep
    sleep(0.4)
    begun = reads.begin()
    sleep(window_s)
    return reads.since(begun)


def test_a_known_curve_is_read_within_one_percent(clock, tmp_path) -> None:
    found = measured(clock, tmp_path / "p", lambda t: 100 + 5 * t)
    assert found.lack is None
    truth_j = sum(100 + 5 * (0.4 + (at + 0.5) / 1000) for at in range(20_000)) / 1000
    assert found.energy_uj == pytest.approx(truth_j * 1e6, rel=0.01)
    assert found.window_ns == 20 * S


def test_a_counter_of_watt_hours_is_read_as_energy(clock, tmp_path) -> None:
    found = measured(clock, tmp_path / "p", lambda t: (t + 3) / 36, options={"unit": "Wh"})  # 100 W
    assert found.energy_uj == pytest.approx(2000 * 1e6, rel=1e-3)


@pytest.mark.parametrize(
    ("how", "lack"),
    [
        ({"watts": lambda t: 100, "until_s": 8}, Lack.STOPPED),
        ({"watts": lambda t: 100, "shift_s": 60}, Lack.CLOCK_APART),
        ({"watts": lambda t: 100, "shift_s": -4}, Lack.CLOCK_APART),
        ({"watts": lambda t: 100 - t, "options": {"unit": "J"}}, Lack.BACKWARDS),
        ({"watts": lambda t: -5}, Lack.BACKWARDS),
        ({"watts": lambda t: "nan"}, Lack.STOPPED),
    ],
)
def test_a_meter_that_stops_lies_or_goes_back_is_named(clock, tmp_path, how, lack) -> None:
    found = measured(clock, tmp_path / "p", **how)
    assert (found.lack, found.energy_uj) == (lack, None)


@pytest.mark.parametrize(
    "options",
    [
        {"path": "power.txt", "period_s": 1},
        {"path": "/p", "period_s": 0},
        {"path": "/p", "period_s": True},
        {"path": "/p", "period_s": 1, "unit": "hp"},
        {"path": "/p", "period_s": 1, "seconds": 1},
        {},
    ],
)
def test_a_wrong_setting_is_refused(options) -> None:
    with pytest.raises(ConfigError, match="METER-01"):
        FileMeter(options, PLACE)


def zone(root: Path, number: str, name: str, energy: int, span: int = 262_143_328_850) -> Path:
    folder = root / "sys/class/powercap" / f"intel-rapl:{number}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "energy_uj").write_text(f"{energy}\n")
    (folder / "max_energy_range_uj").write_text(f"{span}\n")
    return folder


def test_packages_and_memory_are_summed_and_what_holds_them_is_not(tmp_path) -> None:
    package = zone(tmp_path, "0", "package-0", 262_143_000_000)
    zone(tmp_path, "0:0", "core", 5)
    memory = zone(tmp_path, "0:1", "dram", 1_000)
    whole = zone(tmp_path, "1", "psys", 7)
    made = RaplMeter({}, Place(call=here, root=str(tmp_path)))
    assert made.probe() is None
    begun = made.begin()
    time.sleep(0.05)
    (package / "energy_uj").write_text("671149\n")  # it began anew
    (memory / "energy_uj").write_text("1500\n")
    (whole / "energy_uj").write_text("99999999\n")
    found = made.since({name: {**one, "at_ns": one["at_ns"] - S} for name, one in begun.items()})
    assert (found.energy_uj, found.wraps, found.lack) == (1_000_000 + 500, 1, None)
    assert made.describe()["zones"] == ["intel-rapl:0/package-0", "intel-rapl:0:1/dram"]
    (package / "energy_uj").write_text("no number")
    assert made.since(begun).lack is Lack.STOPPED


def test_a_window_lies_between_the_readings_of_the_counters_themselves(tmp_path, monkeypatch) -> None:
    """Asking a far machine takes time before and after it reads: none of it is in the window."""
    clock = Clock()
    monkeypatch.setattr(rapl, "time", clock)
    package = zone(tmp_path, "0", "package-0", 0)

    def far(function, /, **arguments):
        clock.sleep(0.2)
        told = function(**arguments)
        clock.sleep(0.3)
        return told

    made = RaplMeter({}, Place(call=far, root=str(tmp_path)))
    begun = made.begin()
    clock.sleep(1.0)
    (package / "energy_uj").write_text("75000000\n")  # 50 W from reading to reading
    found = made.since(begun)
    assert found.window_ns == round(1.5 * S)
    assert used([(found.counts(), 0)]).power_w == 50.0


def test_a_machine_without_counters_is_refused_before_anything_is_made(tmp_path) -> None:
    missing = RaplMeter({}, Place(call=here, root=str(tmp_path))).probe()
    assert "virtual machine has none" in missing.reason
    testbed = {
        "power": {"meter": "file", "of": "x", "options": {"path": str(tmp_path / "no"), "period_s": 0.1}}
    }
    with pytest.raises(TestbedError, match="METER-02") as caught:
        meter_of(testbed, here)
    assert "stopped" in str(caught.value)
    assert meter_of({}, here) is None
    with pytest.raises(ConfigError, match="DRIVER-01"):
        meter_of({"power": {"meter": "guess", "of": "x"}}, here)
    assert set(registry.names("meter")) >= {"rapl", "file"}


class Ticking:
    """A meter of 50 W by the clock of its test."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def begin(self):
        self.asked.append("begin")
        return 0

    def since(self, begun):
        from bmwg.methodology.answers.power import Energy

        self.asked.append("since")
        return Energy(window_ns=2 * S, energy_uj=100_000_000, samples=3)

    def describe(self):
        return {"meter": "ticking"}


def test_every_count_of_a_trial_has_the_energy_beside_it_and_the_idle_machine_is_a_driver() -> None:
    machines = Machines()
    machines.meter = Ticking()
    with machines.counted() as counts:
        assert machines.meter.asked == ["begin"]
    assert counts["host.power.energy_uj"] == 100_000_000
    assert counts["host.power.window_ns"] == 2 * S
    assert "host.softirq_ns" in counts
    slept = []
    clock = type("C", (), {"sleep": lambda self, s: slept.append(s)})()
    told = idle({"power": {"meter": "ticking", "of": "a plug", "idle_s": 5}}, Ticking(), clock)
    assert (told["name"], told["of"], slept) == (NAME, "a plug", [5.0])
    assert told["idle"]["host.power.energy_uj"] == 100_000_000


def test_what_hosts_did_is_counted_until_the_trials_end_and_not_while_a_meter_waits(monkeypatch) -> None:
    machines, order = Machines(), []
    machines.meter = Ticking()
    looked = machines._looks
    monkeypatch.setattr(machines, "_looks", lambda: order.append("look") or looked())
    monkeypatch.setattr(
        machines.meter, "since", lambda begun: order.append("meter") or Ticking().since(begun)
    )
    with machines.counted():
        order.clear()
    assert order == ["look", "meter"]
