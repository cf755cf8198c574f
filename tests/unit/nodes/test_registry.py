import sys
from pathlib import Path

import pytest

from bmwg.drivers import registry
from bmwg.methodology.errors import ConfigError, TestbedError


def distribution(folder: Path, name: str, value: str, driver: str = "outside") -> None:
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[bmwg.drivers.traffic]\n{driver} = {value}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "bmwg_outside_driver.py").write_text("class Outside:\n    pass\n")
    monkeypatch.delitem(sys.modules, "bmwg_outside_driver", raising=False)
    return tmp_path


def test_a_driver_of_another_distribution_is_found(site: Path) -> None:
    distribution(site, "vendor-a", "bmwg_outside_driver:Outside")
    assert registry.load("traffic", "outside").__name__ == "Outside"
    assert "outside" in registry.names("traffic")
    assert "embedded" in registry.names("traffic")


def test_an_unknown_name_gives_the_near_one() -> None:
    with pytest.raises(ConfigError, match=r"^DRIVER-01 ") as caught:
        registry.load("traffic", "embeded", where="lab.yaml: tester.driver")
    assert caught.value.what.startswith("lab.yaml: tester.driver")
    assert caught.value.hint == "did you mean 'embedded'?"


def test_two_distributions_with_one_name_are_both_named(site: Path) -> None:
    distribution(site, "vendor-a", "bmwg_outside_driver:Outside")
    distribution(site, "vendor-b", "bmwg_outside_driver:Outside")
    with pytest.raises(TestbedError, match=r"^DRIVER-02 ") as caught:
        registry.load("traffic", "outside")
    assert "vendor-a" in caught.value.found
    assert "vendor-b" in caught.value.found


@pytest.mark.parametrize("value", ["bmwg_outside_driver:Absent", "bmwg_not_there:X"])
def test_a_driver_that_cannot_be_imported_is_the_labs_problem(site: Path, value: str) -> None:
    distribution(site, "vendor-a", value)
    with pytest.raises(TestbedError, match=r"^DRIVER-03 ") as caught:
        registry.load("traffic", "outside")
    assert "vendor-a" in caught.value.expected
    assert caught.value.hint.startswith("mend vendor-a")
    assert "uninstall it" in caught.value.hint
