"""What is asked of the links of PCI ports before a trial, and with which words DPDK is started for them."""

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.embedded import pci
from bmwg.drivers.traffic.embedded.ports import check_port
from bmwg.drivers.traffic.embedded.process import EmbeddedConfig, TesterProcess
from bmwg.methodology.errors import TestbedError

PORTS = tuple(TesterPort(name=f"eth{n}", io="pci", device=f"0000:0{n}:00.0") for n in (1, 2))


@pytest.mark.parametrize(
    ("links_mbps", "stated_bps"),
    [
        ((10_000, 10_000), 10_000_000_000),
        ((25_000, 10_000), 10_000_000_000),
        ((0, 0), 10**10),
        ((10, 10), None),
    ],
)
def test_a_link_as_fast_as_the_medium_or_one_that_tells_nothing_passes(links_mbps, stated_bps):
    pci.require_line_rate(PORTS, links_mbps, stated_bps)


def test_a_link_slower_than_the_medium_is_named_with_its_port():
    with pytest.raises(TestbedError, match="TST-26") as caught:
        pci.require_line_rate(PORTS, (10_000, 1_000), 10_000_000_000)
    assert "eth2 (0000:02:00.0)" in str(caught.value)
    assert "1000 Mbit/s" in str(caught.value)


def test_a_port_without_a_link_is_named():
    error = pci.linkless(PORTS, "eth2")
    assert error.error_id == "TST-25"
    assert "0000:02:00.0" in str(error)


@pytest.mark.parametrize("lent", [{"eth1"}, {"0000:01:00.0"}])
def test_a_pci_port_is_lent_by_either_of_its_names(lent):
    check_port(PORTS[0], lent)
    with pytest.raises(TestbedError, match="TST-07"):
        check_port(PORTS[1], lent)


@pytest.mark.parametrize("on_pci", [True, False])
def test_dpdk_probes_no_device_of_its_own_accord(tmp_path, on_pci):
    words = TesterProcess(EmbeddedConfig(pci=on_pci, run_dir=tmp_path))._argv(tmp_path / "tester", 3)
    assert ("--no-pci" in words) is not on_pci
    assert ("--allow" in words) is on_pci  # a device that nothing is: ports are plugged by their addresses
    assert ("--no-huge" in words) is not on_pci
    assert ("--in-memory" in words) is on_pci  # no file that keeps pages after a kill


def test_a_link_that_told_its_rate_and_has_none_after_a_trial_is_lost():
    ports = PORTS
    assert pci.lost_link(ports, (1000, 1000), (1000, 1000)) is None
    assert pci.lost_link(ports, (0, 0), (0, 0)) is None  # a kind of port that tells no rate
    assert pci.lost_link(ports, (1000, 1000), (1000, 0)) == "tester port eth2 (0000:02:00.0) lost its link"
