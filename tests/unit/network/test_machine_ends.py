"""Frames that are sent to a machine before any trial: two are answered one after the other."""

from __future__ import annotations

from types import SimpleNamespace

from bmwg.drivers.paths import machine_ends


def test_whoever_asks_for_both_answers_waits_for_both():
    """A late call costs the tester's node, and with it the run: a silent machine is a refused path."""
    waits = []

    def call_within(call_s, _, *, within_s, **named):
        waits.append((call_s, within_s))
        return {}

    bed = SimpleNamespace(tester=SimpleNamespace(call_within=call_within))
    sides = [SimpleNamespace(number=one, tester_interface=f"p{one}", tester_mac="02:00") for one in (0, 1)]
    assert len(machine_ends.crossed(bed, sides)) == 2
    assert all(call_s > 2 * within_s for call_s, within_s in waits)
