"""Rules on filters and timers say of a public copy what they say of the run: no line of theirs is hidden."""

from __future__ import annotations

from bmwg.drivers.workload import modifiers
from bmwg.methodology.record.redaction import redact_platform
from bmwg.methodology.records import Cell, Direction, FrameFormat


def test_what_modifiers_configure_is_public():
    for frame_format, octets in ((FrameFormat.IPV4_UDP, 64), (FrameFormat.IPV6_UDP, 128)):
        cell = Cell(
            path="node",
            hosting="baremetal",
            function="kernel-l3",
            network="none",
            frame_octets=octets,
            frame_format=frame_format,
            direction=Direction.BOTH,
        )
        told = {
            "test_addresses": [["198.18.0.2", "2001:2::2"], ["198.19.0.2", "2001:2:0:1::2"]],
            "modifiers": {
                name: {"both/any": modifiers.configured(cell, name)}
                for name in (*modifiers.FILTERS, modifiers.ROUTES)
            },
        }
        platform = {"base": {"before": None, "after": None}, "deployments": {"d-1": told}}
        assert redact_platform(platform, bytes(16))["deployments"]["d-1"] == told
