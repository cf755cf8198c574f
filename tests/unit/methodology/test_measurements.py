"""Measurements are found by entry points: what another distribution offers, and what is refused by name."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from bmwg.methodology import offers
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.measurements import registry
from bmwg.methodology.measurements.recovery import Reset
from bmwg.methodology.measurements.soak import SoakMeasurement

GOOD = (Reset(kind="pause"),)
TWICE = (replace(SoakMeasurement()),)
NO_TUPLE = [Reset(kind="pause")]
STRANGE = (object(),)


@pytest.fixture
def offered(tmp_path, monkeypatch):
    def offer(name):
        folder = tmp_path / "toy-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(f"[{registry.GROUP}]\ntoy = {__name__}:{name}\n")
        monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
        monkeypatch.syspath_prepend(str(tmp_path))
        registry.measurements.cache_clear()

    yield offer
    registry.measurements.cache_clear()


def test_one_of_another_distribution_is_found_by_its_name(offered) -> None:
    with pytest.raises(ConfigError, match="MEAS-01"):
        registry.measurement("reset_pause")
    offered("GOOD")
    assert registry.measurement("reset_pause") == GOOD[0]
    assert registry.recorded_as("reset.rfc6201.pause") == "reset.rfc6201.pause"
    assert "toy" in offers.names(registry.GROUP)


@pytest.mark.parametrize(
    ("name", "error_id"), [("NO_TUPLE", "MEAS-02"), ("STRANGE", "MEAS-02"), ("TWICE", "MEAS-03")]
)
def test_an_offer_that_is_none_is_refused(offered, name, error_id) -> None:
    offered(name)
    with pytest.raises(TestbedError, match=f"^{error_id} "):
        registry.measurements()


def test_an_unknown_one_has_its_near_name() -> None:
    with pytest.raises(ConfigError, match="did you mean 'back_to_back'"):
        registry.measurement("back_to_bck")
