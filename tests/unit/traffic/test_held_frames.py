"""Frames that stand in a packet socket's ring are not those of the next trial."""

import pytest

from bmwg.drivers.api import TesterPort
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic


def ports(io):
    return tuple(TesterPort(name=f"p{side}", device=f"eth{side}", io=io, netns=None) for side in (0, 1))


@pytest.fixture
def tester(monkeypatch):
    """A tester whose ports are plugged only on paper."""
    made = EmbeddedTraffic.__new__(EmbeddedTraffic)
    made._queue_refused = made._ring_holds = False
    made._slot_octets = 256
    made.plugged = 0
    monkeypatch.setattr(made, "_plug", lambda *_, **__: setattr(made, "plugged", made.plugged + 1))
    monkeypatch.setattr(made, "_resolve", lambda *_: None)
    return made


@pytest.mark.parametrize(
    ("holds", "io", "times"), [(True, "af_packet", 1), (False, "af_packet", 0), (True, "af_xdp", 0)]
)
def test_a_ring_that_still_holds_frames_is_opened_anew_once(tester, holds, io, times):
    tester._ring_holds = holds
    tester._fit_rings(ports(io), 64)
    tester._fit_rings(ports(io), 64)
    assert tester.plugged == times
