"""What a network's options may say; each refusal comes before anything is made."""

from pathlib import Path

import pytest

from bmwg.drivers.api.calls import Calls
from bmwg.drivers.network import ebpf_build, ebpf_node, libbpf, ovs_obstacle, ovs_words
from bmwg.drivers.network.af_xdp import AfXdpNetwork
from bmwg.drivers.network.combination import CombinedNetwork
from bmwg.drivers.network.ebpf_tc import TcRedirectNetwork
from bmwg.drivers.network.handover import AF_XDP, NETDEV, VHOST_USER, NetworkDefaults, undriven
from bmwg.drivers.network.ovs_dpdk import OvsDpdkNetwork
from bmwg.drivers.network.sriov import SriovNetwork
from bmwg.drivers.network.sriov_vfio import SriovVfioNetwork
from bmwg.drivers.nodes import pages
from bmwg.drivers.paths import uplinks
from bmwg.drivers.ports import vfio, virtual_functions
from bmwg.drivers.testbed.file import load_testbed, network_spec
from bmwg.methodology.errors import ConfigError, TestbedError


def made(kind, driver, options, dut_cpus=(1, 2)):
    spec = network_spec("one", {"driver": driver, "options": options}, dut_cpus)
    return kind(spec, run_dir=Path("/run/x"), undo=None)


@pytest.mark.parametrize(
    ("options", "where", "said"),
    [
        ({"pmd_cpus": "0"}, "pmd_cpus", "CPU 0, which is none of the DUT's"),
        ({"pmd_cpus": "3-1"}, "pmd_cpus", "3-1"),
        ({"pmd_cpus": [0, 1]}, "pmd_cpus", "CPU 0, which is none of the DUT's"),
        ({"pmd_cpus": []}, "pmd_cpus", "[]"),
        ({"pmd_cpus": [True]}, "pmd_cpus", "True"),
        ({"nic_port": "afxdp"}, "nic_port", "afxdp"),
        ({"rx_queues": 0}, "rx_queues", "0"),
        ({"smc": "yes"}, "smc", "yes"),
        ({"hugepages_2mi": 5}, "hugepages_2mi", "5"),
        ({"socket_dir": "/run/" + 100 * "x"}, "socket_dir", "119 octets"),
        ({"socket_dir": "run"}, "socket_dir", "octets: run/"),
        ({"pmd_cpu": "1"}, "options", "pmd_cpu"),
    ],
)
def test_each_wrong_option_of_the_vswitch_is_named_by_its_place(options, where, said):
    with pytest.raises(ConfigError, match=r"^NET-04 ") as caught:
        made(OvsDpdkNetwork, "ovs-dpdk", options)
    assert where in caught.value.what
    assert said in caught.value.found


def test_a_strange_key_has_its_near_name():
    with pytest.raises(ConfigError, match="did you mean 'pmd_cpus'"):
        made(OvsDpdkNetwork, "ovs-dpdk", {"pmd_cpu": "1"})


@pytest.mark.parametrize(
    ("kind", "driver"), [(TcRedirectNetwork, "ebpf-tc"), (AfXdpNetwork, "af-xdp"), (SriovNetwork, "sriov")]
)
def test_the_other_networks_refuse_what_they_do_not_know(kind, driver):
    with pytest.raises(ConfigError, match=r"^NET-04 "):
        made(kind, driver, {"colour": "blue"})


def test_polling_threads_run_on_the_first_cpu_of_the_dut_unless_told():
    assert made(OvsDpdkNetwork, "ovs-dpdk", {})._config["pmd_cpus"] == [1]
    for told in ("1-2", "1,2", [1, 2], [2, 1]):
        assert made(OvsDpdkNetwork, "ovs-dpdk", {"pmd_cpus": told})._config["pmd_cpus"] == [1, 2]


def test_a_function_that_cannot_use_what_is_handed_over_is_refused_by_name():
    network = made(OvsDpdkNetwork, "ovs-dpdk", {})
    assert undriven(network, "function testpmd", frozenset({NETDEV, VHOST_USER, AF_XDP})) is None
    missing = undriven(network, "function kernel-l3", frozenset({NETDEV}))
    assert missing.what == "function kernel-l3 on network one"
    assert "vhost-user" in missing.reason


SAID = """Displaying last 60 seconds pmd usage %
pmd thread numa_id 0 core_id 1:
  isolated : false
  port: nic0              queue-id:  0 (enabled)   pmd usage: NOT AVAIL
  port: net0-59155cc9     queue-id:  1 (disabled)   pmd usage:  4 %
  overhead: NOT AVAIL
pmd thread numa_id 1 core_id 5:
  isolated : true
"""


def test_polling_threads_are_read_with_cpu_node_and_queues():
    assert ovs_words.pollers(SAID) == [
        {
            "cpu": 1,
            "numa_node": 0,
            "isolated": False,
            "queues": [
                {"port": "nic0", "queue": 0, "enabled": True},
                {"port": "net0-59155cc9", "queue": 1, "enabled": False},
            ],
        },
        {"cpu": 5, "numa_node": 1, "isolated": True, "queues": []},
    ]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (["map", [["a", "b"]]], {"a": "b"}),
        (["set", []], []),
        ("up", "up"),
        (3, 3),
    ],
)
def test_values_of_the_database_become_plain_data(value, plain):
    assert ovs_words.plain(value) == plain


def test_hugepages_that_are_not_there_are_told_before_anything_is_made(tmp_path, monkeypatch):
    for size, many in ((2048, 3), (1048576, 1)):
        (tmp_path / f"hugepages-{size}kB").mkdir()
        (tmp_path / f"hugepages-{size}kB" / "free_hugepages").write_text(f"{many}\n")
    monkeypatch.setattr(pages, "_POOLS", tmp_path)
    lack = ovs_obstacle.obstacle(cpus=[1], hugepages_2mi=256, owner="vswitch-none")
    assert lack["what"] == "256 hugepages of 2 MiB"
    assert lack["reason"] == "3 are free"
    lack = ovs_obstacle.obstacle(cpus=[1], hugepages_2mi=0, hugepages_1gi=2, owner="vswitch-none")
    assert (lack["what"], lack["reason"]) == ("2 hugepages of 1 GiB", "1 are free")
    lack = ovs_obstacle.obstacle(cpus=[], hugepages_2mi=2, owner="vswitch-none")
    assert lack["reason"].startswith("1 of 1 GiB are free")
    for large in (0, 1):
        told = {"hugepages_2mi": 0, "hugepages_1gi": large, "owner": "vswitch-none"}
        assert ovs_obstacle.obstacle(cpus=[], **told) is None


def test_a_switch_of_somebody_else_on_these_cpus_is_told(monkeypatch):
    monkeypatch.setattr(ovs_obstacle, "_pollers", lambda: iter([(12, "pmd-c01/id:9", 1)]))
    lack = ovs_obstacle.obstacle(cpus=[1], hugepages_2mi=0, owner="vswitch-none")
    assert "process 12, thread pmd-c01/id:9" in lack["reason"]
    assert ovs_obstacle.obstacle(cpus=[2], hugepages_2mi=0, owner="vswitch-none") is None


class NodeWith(Calls):
    """A node whose NICs can have so many virtual functions, by name; nothing else may be asked of it."""

    def __init__(self, totals):
        self.totals = totals

    def call_named(self, function, arguments, *, deadline_s=None):
        assert function == "bmwg.drivers.ports.virtual_functions:capable"
        return self.totals


@pytest.mark.parametrize("totals", [{}, {"nic0": 7, "nic1": 3}])
def test_more_virtual_functions_than_the_nics_have_are_missing_by_number(totals):
    lack = made(SriovNetwork, "sriov", {"virtual_functions": 8}).probe(NodeWith(totals))
    assert lack.what == "a NIC with 8 virtual functions"
    assert "guest-sriov" in lack.mend


def options_of(totals):
    """Each option that takes a NIC's functions, and a node of that name whose NICs have so many."""
    node = NodeWith(totals)
    node.name = "dut1"
    sound = {"driver": "combination", "options": {"north_south": "sriov", "north_south_options": FOUR}}
    spec = network_spec("one", sound, (1, 2))
    return node, [
        made(SriovNetwork, "sriov", FOUR),
        made(SriovVfioNetwork, "sriov-vfio", FOUR),
        CombinedNetwork(spec, run_dir=Path("/run/x"), undo=None),
    ]


FOUR = {"virtual_functions": 4}


@pytest.mark.parametrize(
    ("totals", "said"),
    [
        ({"nic0": 7, "nic1": 3}, "4 virtual functions of nic1"),
        ({"nic0": 7, "eno1": 64}, "4 virtual functions of nic1"),
        ({"eno1": 64}, "4 virtual functions of nic0"),
        ({"nic0": 4, "nic1": 7}, None),
    ],
)
def test_the_uplink_itself_must_have_the_functions_not_any_nic_of_the_node(totals, said, monkeypatch):
    node, options = options_of(totals)
    testbed = load_testbed()  # the tester is cabled to nic0 and nic1 of dut1
    for one in options:
        monkeypatch.setattr(type(one), "probe", lambda *_: None)  # any NIC has functions: that is content
        found = uplinks.lacking(one, node, testbed)
        assert (found.what if found else None) == said
        assert found is None or "eno1 has 64" in found.reason or "eno1" not in totals


def test_an_option_that_asks_nothing_of_its_nic_is_probed_as_before():
    class Probed(NetworkDefaults):
        def probe(self, node):
            return None

    node = NodeWith({})
    node.name = "dut1"
    assert uplinks.lacking(Probed(), node, load_testbed()) is None


def test_a_number_of_virtual_functions_that_no_nic_has_is_refused_by_its_place():
    for number in (0, 257, "1"):
        with pytest.raises(ConfigError) as caught:
            made(SriovNetwork, "sriov", {"virtual_functions": number})
        assert "virtual_functions" in caught.value.what


def test_a_nic_without_virtual_functions_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(virtual_functions, "_NET", tmp_path)
    (tmp_path / "eth0" / "device").mkdir(parents=True)
    with pytest.raises(TestbedError, match="VF-01") as caught:
        virtual_functions.of(interface="eth0")
    assert caught.value.found == "a NIC without"
    assert virtual_functions.capable() == {}


def test_functions_of_somebody_else_are_not_touched(tmp_path, monkeypatch):
    monkeypatch.setattr(vfio, "PCI", tmp_path)
    (tmp_path / "0000:01:00.0").mkdir()
    made_already = tmp_path / "0000:01:00.0" / "sriov_numvfs"
    made_already.write_text("2")
    with pytest.raises(TestbedError, match="VF-01") as caught:
        virtual_functions.create(address="0000:01:00.0", count=1)
    assert "made already" in caught.value.found
    assert made_already.read_text() == "2"


def test_functions_are_made_told_and_taken_back(tmp_path, monkeypatch):
    monkeypatch.setattr(vfio, "PCI", tmp_path)
    nic = tmp_path / "0000:01:00.0"
    nic.mkdir()
    (nic / "sriov_numvfs").write_text("0")
    for number in (0, 1):
        made_one = tmp_path / f"0000:01:10.{number}"
        (made_one / "net" / f"eth{number}").mkdir(parents=True)
        (nic / f"virtfn{number}").symlink_to(made_one)
    found = virtual_functions.create(address="0000:01:00.0", count=2)
    assert found == ["0000:01:10.0", "0000:01:10.1"]
    assert (nic / "sriov_numvfs").read_text() == "2"
    assert virtual_functions.interface_of(address=found[1])["interface"] == "eth1"
    virtual_functions.remove(address="0000:01:00.0")
    virtual_functions.remove(address="0000:01:00.0")
    virtual_functions.remove(address="0000:02:00.0")
    assert (nic / "sriov_numvfs").read_text() == "0"


def test_a_function_without_a_driver_is_named_within_its_deadline(tmp_path, monkeypatch):
    monkeypatch.setattr(vfio, "PCI", tmp_path)
    (tmp_path / "0000:01:10.0").mkdir()
    with pytest.raises(TestbedError, match="VF-03") as caught:
        virtual_functions.interface_of(address="0000:01:10.0", within_s=0.1)
    assert caught.value.found == "driver none"


def test_a_machine_without_clang_lacks_the_programs_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr(ebpf_build.build, "CLANG_NAMES", ("clang-that-is-not-there",))
    monkeypatch.setenv("PATH", str(tmp_path))
    lack = ebpf_build.missing()
    assert lack is not None
    assert lack.what == "programs for the tc hook"
    assert "clang" in lack.reason + lack.mend


def test_a_kernel_that_takes_no_program_for_the_hook_is_told_before_anything_is_made(monkeypatch):
    def refuses(_path):
        raise TestbedError(
            "BPF-01", "the kernel took no program", found="Invalid argument", hint="another kernel"
        )

    monkeypatch.setattr(ebpf_build, "missing", lambda: None)
    monkeypatch.setattr(ebpf_build, "ensure_built", lambda: Path("/nowhere"))
    monkeypatch.setattr(libbpf, "Object", refuses)
    lack = ebpf_node.probe()
    assert lack is not None
    assert lack["what"] == "programs at the tc hook"
    assert "Invalid argument" in lack["reason"]
