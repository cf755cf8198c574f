"""The MoonGen driver against a program written for these tests, which answers as our script does.

Neither MoonGen nor a NIC is here: what is shown is the driver, not the Lua script on real hardware.
"""

import os
import stat
import sys

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.moongen.driver import MoonGenTraffic, read_options
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.records import Direction, FrameFormat, TrialSpec, Validity
from bmwg.methodology.trial.judging import TrialPolicy, assess

MACS = {"mac_0": "02:00:00:00:00:01", "mac_1": "02:00:00:00:00:02"}
PROGRAM = """#!{python}
import json, sys
order = dict(line.split(None, 1) for line in open(sys.argv[2]))
frames = int(order["frames"])
senders = {{}}
for side in (0, 1):
    if order[f"send_{{side}}"].strip() == "1":
        senders[str(side)] = {{"sent": frames, "took_s": frames / float(order["load_fps"])}}
ports = {{str(side): {{"tx": frames, "rx": frames * 9 // 10}} for side in (0, 1)}}
{act}
json.dump({{"version": "peer", "senders": senders, "ports": ports}}, open(sys.argv[3], "w"))
"""


@pytest.fixture
def moongen(tmp_path):
    def make(act="pass", **options):
        program = tmp_path / "build" / "MoonGen"
        program.parent.mkdir(exist_ok=True)
        program.write_text(PROGRAM.format(python=sys.executable, act=act))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        config = read_options({"dir": str(tmp_path), **MACS, **options}, "lab.yaml", tmp_path, 0.05)
        return MoonGenTraffic(config)

    return make


def ports(**changes):
    return tuple(
        TesterPort(
            name=f"tester/p{side}",
            io="pci",
            device=f"0000:00:0{side}.0",
            ipv4=f"198.18.{side}.2/24",
            **changes,
        )
        for side in (0, 1)
    )


def spec(**changes):
    return TrialSpec(**{"frame_octets": 128, "load_fps": 1000, "duration_s": 0.2, **changes})


def test_counts_are_those_of_the_program(moongen):
    with moongen() as tester:
        tester.attach(ports())
        tester.learn(spec())
        result = tester.run(spec(direction=Direction.BOTH))
    assert result.fault is None
    assert [(s.sent_frames, s.received_frames) for s in result.streams] == [(200, 180)] * 2
    assert result.streams[0].effective_duration_ns == 200_000_000


@pytest.mark.parametrize(
    ("frames", "took_s", "sent_s", "valid"),
    [
        (4_000, 1.5, 2.0, True),  # the rest of the time asked for 1,024 frames may have been in the ring
        (4_000, 2.0, 2.0, True),
        (4_000, 0.1, 0.612, False),  # a card that does not pace
        (4_000, 4.0, 4.0, False),
        (400, 0.0, 0.2, True),  # all of it in the ring: nothing is seen of the pace
    ],
)
def test_frames_in_the_cards_ring_have_not_left(moongen, frames, took_s, sent_s, valid):
    act = f"[one.update(took_s={took_s}) for one in senders.values()]; ports['1']['rx'] = frames"
    asked = spec(load_fps=2_000, duration_s=frames / 2_000)
    with moongen(act) as tester:
        tester.attach(ports())
        result = tester.run(asked)
    assert result.streams[0].effective_duration_ns == pytest.approx(sent_s * 1e9)
    assert (assess(result, TrialPolicy()).validity is Validity.VALID) is valid


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("sys.exit(3)", "exit status 3"),
        ("ports['1']['rx'] = float('nan')", "nan"),
        ("ports['1']['rx'] = -4", "-4"),
        ("senders['0'].pop('sent')", "None"),
        ("senders = []", "took_s"),
        ("open(sys.argv[3], 'w').write('no json'); sys.exit(0)", "no json"),
    ],
)
def test_what_is_no_count_is_a_fault(moongen, act, said):
    with moongen(act) as tester:
        tester.attach(ports())
        result = tester.run(spec())
    assert said in result.fault
    assert result.sent_frames == 0


def test_a_program_that_hangs_is_ended(moongen, monkeypatch):
    monkeypatch.setattr("bmwg.drivers.traffic.moongen.driver.START_S", 0.3)
    with moongen("import time; time.sleep(30)") as tester:
        tester.attach(ports())
        assert "no end within" in tester.run(spec()).fault


def test_what_it_cannot_do_is_refused(moongen, tmp_path):
    with moongen() as tester:
        with pytest.raises(DriverError, match="MOON-06"):
            tester.run(spec())
        with pytest.raises(TestbedError, match="MOON-07"):
            tester.attach(ports(gateway_ipv4="198.18.0.1"))
        tester.attach(ports())
        for change in ({"vlan_id": 7}, {"frame_format": FrameFormat.IPV6_UDP}, {"loss_times": True}):
            with pytest.raises(ConfigError, match="CAP-01"):
                tester.run(spec(**change))
        with pytest.raises(ConfigError, match="MOON-05"):
            tester.run(spec(frame_octets=1519))
    with pytest.raises(ConfigError, match="MOON-02") as raised:
        read_options({"dir": "x", **MACS, "brust": 3, "port_0": "1"}, "lab.yaml", tmp_path, 0.05)
    assert "brust is unknown" in str(raised.value)
    assert "port_0 is no number" in str(raised.value)
    assert read_options(
        {"dir": str(moongen().config.folder), **MACS, "hardware_stamps": False}, "", tmp_path, 0
    )
    with pytest.raises(ConfigError, match="adds frames to the load"):
        read_options({"dir": "x", **MACS, "hardware_stamps": True}, "lab.yaml", tmp_path, 0.05)
    with pytest.raises(TestbedError, match="MOON-01"):
        read_options({"dir": os.devnull, **MACS}, "lab.yaml", tmp_path, 0.05)
