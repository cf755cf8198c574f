"""What a testbed file may say of lanes; what is refused before anything is sent."""

import pytest

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.embedded import lanes
from bmwg.drivers.traffic.embedded.ports import check_port, device_arguments, ring_for
from bmwg.drivers.traffic.embedded.process import EmbeddedConfig, TesterProcess
from bmwg.drivers.traffic.embedded.protocol import RefusalError
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.trial.capabilities import EVERYTHING, Capability

NICS = tuple(TesterPort(name=f"eth{n}", io="pci", device=f"0000:0{n}:00.0") for n in (1, 2))


def kind(io):
    return TesterPort(name="p0", io=io, device="x")


def test_options_are_read():
    found = lanes.read_settings({"lanes": 2, "memory_mib": 512, "descriptors": 1024}, (2, 3, 4), "lab.yaml")
    assert found == lanes.Settings(lanes=2, memory_mib=512, descriptors=1024)
    assert lanes.read_settings({}, (2,), "lab.yaml") == lanes.Settings()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"lane": 2}, "did you mean 'lanes'"),
        ({"lanes": 0}, "1 to 64"),
        ({"lanes": 65}, "1 to 64"),
        ({"lanes": "2"}, "'2'"),
        ({"lanes": True}, "True"),
        ({"lanes": 3}, "each CPU of tester.cpus, 2"),
        ({"descriptors": 1}, "64 to 32768"),
        ({"memory_mib": 1}, "64 to 65536"),
        ({"mac_step": 2}, "an odd number"),
        ({"mac_step": 2**24 + 1}, "1 to 16777215"),
    ],
)
def test_wrong_options_are_named(options, expected):
    with pytest.raises(ConfigError, match="TST-27") as caught:
        lanes.read_settings(options, (4, 5), "lab.yaml")
    assert expected in str(caught.value)
    assert "lab.yaml: tester.options." in str(caught.value)


@pytest.mark.parametrize("cpus", [(), (0, 0), tuple(range(65)), (4096,)])
def test_cpus_that_no_lanes_can_have(cpus, tmp_path):
    with pytest.raises(ConfigError, match="TST-23"):
        EmbeddedConfig(cpus=cpus, run_dir=tmp_path)


def test_more_lanes_and_descriptors_take_more_memory():
    one = lanes.memory_for(1, 2048)
    assert one == 160
    assert lanes.memory_for(2, 2048) - one == lanes.memory_for(3, 2048) - lanes.memory_for(2, 2048) > 0
    assert lanes.memory_for(1, 1024) == one
    assert lanes.memory_for(2, 4096) > lanes.memory_for(2, 2048)


@pytest.mark.parametrize("io", ["xdp", "af_xdp", "memif", "pcap"])
def test_kinds_of_one_queue_take_one_lane(io):
    lanes.check_kinds((kind(io), kind(io)), 1)
    with pytest.raises(ConfigError, match="TST-28") as caught:
        lanes.check_kinds((kind(io), kind(io)), 2)
    assert io in str(caught.value)


@pytest.mark.parametrize("io", ["af_packet", "virtio_user", "vhost", "pci", "ring"])
def test_kinds_of_several_queues_take_several_lanes(io):
    lanes.check_kinds((kind(io), kind(io)), 4)


@pytest.mark.parametrize(
    ("io", "words"), [("af_packet", "qpairs=4"), ("virtio_user", "queues=4"), ("vhost", "queues=4")]
)
def test_each_lane_has_a_queue(io, words):
    assert words in device_arguments(kind(io), 1, ring_for(64), 4)


@pytest.mark.parametrize("device", ["plain", "drop=3", "drop=10+cross=3+double=7"])
def test_a_ring_takes_what_happens_on_it(device):
    port = TesterPort(name="p0", io="ring", device=device)
    check_port(port, ())
    assert device_arguments(port, 1, ring_for(64), 2) == f"ring:{'' if device == 'plain' else device}"


@pytest.fixture
def nodes(tmp_path, monkeypatch):
    """Two NUMA nodes of two CPUs; both NICs on the second."""
    for node in (0, 1):
        for cpu in (0, 1):
            (tmp_path / f"node{node}" / f"cpu{2 * node + cpu}").mkdir(parents=True)
    for nic in NICS:
        (tmp_path / nic.device).mkdir()
        (tmp_path / nic.device / "numa_node").write_text("1\n")
    monkeypatch.setattr(lanes, "_NODES", tmp_path)
    monkeypatch.setattr(lanes, "_PCI_DEVICES", tmp_path)
    return tmp_path


def test_lanes_stand_on_the_numa_node_of_their_nics(nodes):
    lanes.check_nodes(NICS, (2, 3))
    lanes.check_nodes(NICS, (0,))  # one lane may stand anywhere: its rate is qualified
    with pytest.raises(TestbedError, match="TST-32") as caught:
        lanes.check_nodes(NICS, (1, 2))
    assert "eth1 (0000:01:00.0)" in str(caught.value)
    assert "[1]" in str(caught.value)
    for nic in NICS:
        (nodes / nic.device / "numa_node").write_text("-1\n")  # the machine has one node
    lanes.check_nodes(NICS, (1, 2))


@pytest.mark.parametrize(("code", "error_id"), [("queues", "TST-28"), ("no_rss", "TST-29")])
def test_a_nic_that_cannot_have_so_many_is_named(code, error_id):
    error = lanes.refused(RefusalError(code, "eth2 1"), NICS, 2)
    assert error is not None
    assert error.error_id == error_id
    assert "eth2 (0000:02:00.0): 2 lanes" in str(error)
    assert lanes.refused(RefusalError("device", "eth2: none"), NICS, 2) is None


def test_several_lanes_lack_what_only_one_can_see():
    assert lanes.capabilities_of(1, ()) == EVERYTHING
    assert EVERYTHING - lanes.capabilities_of(2, ()) == {
        Capability.LOSS_TIMES,
        Capability.BROADCAST,
        Capability.REPEATED_BURSTS,
        Capability.PATTERN,
        Capability.MANY_FLOWS,
    }


def test_each_lane_has_its_cpu_by_number(tmp_path, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    words = TesterProcess(EmbeddedConfig(cpus=(5, 3, 4), run_dir=tmp_path))._argv(tmp_path / "tester", 3)
    assert words[words.index("--lcores") + 1] == "0@5,1@3,2@4"
    assert '"tester": [5, 3, 4]' in words[3]


def test_what_each_lane_did_is_told_of_several():
    lane = {"sent_frames": 2, "received_frames": 1, "handed_frames": 3, "cpu_ns": 4, "largest_gap_ns": 5}
    assert lanes.told({"lanes": [lane]}) == {}
    found = lanes.told({"lanes": [lane, lane]})
    assert found["lanes"] == 2
    assert found["lanes.handed_frames"] == 6
    assert found["lane1.cpu_ns"] == 4
    for wrong in ([], None, [lane, {}]):
        with pytest.raises(DriverError, match="TST-14"):
            lanes.told({"lanes": wrong})
