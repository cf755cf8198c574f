"""What a generator behind OTG is not asked for, and that it sends nothing once nobody waits for it."""

from __future__ import annotations

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.otg.driver import OtgConfig, OtgTraffic
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.records import FrameFormat, TrialSpec


@pytest.fixture
def otg():
    """A generator whose implementation is not there."""
    made = OtgTraffic(
        OtgConfig(
            location="https://127.0.0.1:1",
            ports=("p0", "p1"),
            macs=("02:00:00:00:00:01", "02:00:00:00:00:02"),
        )
    )
    made._api = object()
    made._ports = tuple(TesterPort(name=f"p{side}", io="pci", device=f"p{side}") for side in (0, 1))
    return made


@pytest.mark.parametrize(
    ("frame_format", "vlan_id", "least"),
    [
        (FrameFormat.IPV4_UDP, None, 64),
        (FrameFormat.IPV4_UDP, 7, 64),
        (FrameFormat.IPV6_UDP, None, 66),
        (FrameFormat.IPV6_UDP, 7, 70),
    ],
)
def test_a_frame_that_cannot_hold_its_headers_is_refused(otg, frame_format, vlan_id, least):
    """The implementation would send another size than the one that the answer names."""
    asked = {"load_fps": 10, "duration_s": 1.0, "frame_format": frame_format, "vlan_id": vlan_id}
    otg._checked(TrialSpec(frame_octets=least, **asked))
    if least > 64:
        with pytest.raises(ConfigError, match="OTG-05"):
            otg._checked(TrialSpec(frame_octets=least - 1, **asked))


@pytest.mark.parametrize("broken", [KeyboardInterrupt(), TestbedError("OTG-03", "no answer")])
def test_flows_are_stopped_when_their_wait_is_broken_off(otg, monkeypatch, broken):
    told = []

    def metrics():
        raise broken

    monkeypatch.setattr(otg, "_transmit", told.append)
    monkeypatch.setattr(otg, "_metrics", metrics)
    with pytest.raises(type(broken)):
        otg._send(60.0)
    assert told == ["start", "stop"]
