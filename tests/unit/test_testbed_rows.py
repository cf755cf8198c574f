"""Rows of hosts and their cables in a testbed file, the rate of the medium between them, and tester ports."""

import pytest
from tests.unit.testbed_files import changed, refusal

from bmwg.drivers.ports import interfaces, lab_port
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.testbed.medium import Medium, medium_of, require_rate, with_medium
from bmwg.drivers.testbed.port_kind import port_kind
from bmwg.drivers.testbed.row import row_hosts
from bmwg.methodology.errors import ConfigError

ROLES = {"client": "one", "dut": "two", "origin": "three"}
CABLES = (("one/eth1", "two/eth1"), ("three/eth1", "two/eth2"))


def with_row(data):
    for name in ("one", "two", "three"):
        data["nodes"][name] = {"kind": "ssh", "ssh": f"root@lab-{name}", "python": "/opt/bmwg/bin/python"}
    data["roles"] = dict(ROLES)
    data["links"] += [{"a": a, "b": b, "kind": "cable"} for a, b in CABLES]


def test_a_row_names_its_hosts_and_their_ports(tmp_path):
    hosts = row_hosts(load_testbed(changed(tmp_path, with_row)).data)
    assert [(one.name, one.ssh, one.ports) for one in hosts] == [
        ("client", "root@lab-one", ("eth1",)),
        ("proxy", "root@lab-two", ("eth1", "eth2")),
        ("server", "root@lab-three", ("eth1",)),
    ]
    assert {one.python for one in hosts} == {"/opt/bmwg/bin/python"}
    assert row_hosts(load_testbed().data) == ()


@pytest.mark.parametrize(
    ("change", "error_id", "fragments"),
    [
        (lambda d: d["roles"].update(client="on"), "CFG-04", ["the unknown node 'on'", "one"]),
        (lambda d: d["roles"].update(client="dut1"), "CFG-04", ["a node of kind namespace"]),
        (lambda d: d["roles"].update(origin="one"), "CFG-04", ["that of roles.client"]),
        (
            lambda d: d["nodes"]["three"].update(ssh="root@lab-one"),
            "CFG-04",
            ["a host of its own", "that of roles.client"],
        ),
        (lambda d: d["links"][-1].update(b="two/eth1"), "CFG-04", ["an interface that no other link has"]),
        (
            lambda d: d["links"].pop(),
            "CFG-04",
            ["one link of kind cable between two (dut) and three (origin)", "none"],
        ),
        (
            lambda d: d["links"][-1].update(kind="veth"),
            "CFG-04",
            ["one link of kind cable between two (dut) and three (origin)"],
        ),
        (
            lambda d: d["links"].append({"a": "one/eth2", "b": "two/eth3", "kind": "cable"}),
            "CFG-04",
            ["one link of kind cable between one (client) and two (dut)", "2"],
        ),
        (lambda d: d.update(vms={"driver": "libvirt"}), "CFG-04", ["libvirt on the hosts of a row"]),
        (
            lambda d: d.update(vms={"driver": "qemu", "image": "/a.qcow2"}),
            "CFG-04",
            ["no image", "/a.qcow2"],
        ),
        (lambda d: d["roles"].pop("origin"), "CFG-03", ["origin"]),
        (lambda d: d["roles"].update(cleint="one"), "CFG-03", ["cleint", "client"]),
        (lambda d: d["links"][-1].update(a="three/a/b"), "CFG-03", ["node/interface"]),
        (lambda d: d["nodes"]["one"].update(python="python3"), "CFG-03", ["absolute path"]),
        (lambda d: d["nodes"]["one"].update(python="/a//b"), "CFG-03", ["absolute path"]),
        (lambda d: d["nodes"]["dut1"].update(python="/usr/bin/python3"), "CFG-03", ["kind ssh has it"]),
    ],
)
def test_a_row_that_cannot_be_is_refused(tmp_path, change, error_id, fragments):
    def act(data):
        with_row(data)
        change(data)

    error = refusal(changed(tmp_path, act))
    assert error.error_id == error_id
    for fragment in fragments:
        assert fragment in str(error)


def test_a_cable_on_this_machine_is_of_lab_ports(tmp_path):
    def cable(data):
        data["links"][0]["kind"] = "cable"

    error = refusal(changed(tmp_path, cable))
    assert error.error_id == "CFG-04"
    assert "links[0].a" in str(error)
    assert "that lab_ports names (none declared), found 'p0'" in str(error)

    def named(data):
        cable(data)
        data["lab_ports"] = ["p0", "nic0"]

    assert load_testbed(changed(tmp_path, named)).links[0].kind == "cable"


def cabled(data, rate_bps=None):
    """Have both ports of the tester at cables, and the file name a rate."""
    for link in data["links"][:2]:
        link["kind"] = "cable"
    data["lab_ports"] = ["p0", "nic0", "p1", "nic1"]
    with_rate(data, rate_bps)


def with_rate(data, rate_bps):
    if rate_bps is not None:
        data["medium"] = {"kind": "ethernet", "line_rate_bps": rate_bps}


@pytest.mark.parametrize(
    ("rates", "stated", "expected"),
    [
        ({"p0": 10**9, "nic0": 10**9}, None, 10**9),  # read where the file names none
        ({"p0": 10**10, "nic0": 10**9}, None, None),  # two rates, and no person says which counts
        ({"p0": 10**9}, None, None),  # a port that tells none
        ({"p0": 10**9}, 10**8, 10**8),  # what lies between is slower than the ports
        ({"p0": 10**9, "nic0": 10**9}, 10**10, None),  # and cannot be faster
    ],
)
def test_the_mediums_rate_is_that_of_the_cabled_ports(tmp_path, monkeypatch, rates, stated, expected):
    both = {**rates, **{name.replace("0", "1"): rate for name, rate in rates.items()}}
    monkeypatch.setattr(lab_port, "line_rate_bps", lambda *, interface: both.get(interface))
    testbed = load_testbed(changed(tmp_path, lambda data: cabled(data, stated)))
    if expected is None:
        with pytest.raises(ConfigError, match="PORT-05"):
            with_medium(testbed)
    else:
        assert medium_of(with_medium(testbed)).line_rate_bps == expected


def test_a_testbed_without_cables_keeps_its_medium():
    testbed = load_testbed()
    assert with_medium(testbed) is testbed


@pytest.mark.parametrize("links", [with_rate, cabled], ids=["pairs of the run's", "pairs at cables"])
def test_ends_of_veth_pairs_have_no_rate_whatever_the_file_or_the_kernel_says(tmp_path, monkeypatch, links):
    """The kernel calls each 10 Gbit/s. `bmwg verify` refuses such a run (VER-33), so none is begun."""
    monkeypatch.setattr(lab_port, "is_pair", lambda *, interface: True)
    testbed = load_testbed(changed(tmp_path, lambda data: links(data, None)))
    assert medium_of(with_medium(testbed)) == Medium(kind="veth")
    with pytest.raises(ConfigError, match=r"PORT-05(?s:.*)veth pair"):
        with_medium(load_testbed(changed(tmp_path, lambda data: links(data, 10**10))))


def test_a_port_that_is_the_end_of_a_pair_on_its_host_has_no_rate_either(tmp_path):
    testbed = load_testbed(changed(tmp_path, lambda data: cabled(data, 10**10)))
    nic, pair = ({"node": "dut1", "interface": "nic0", "kind": kind} for kind in ("device", "veth"))
    for end in (nic, pair):  # verify looks at the tester's ports alone
        require_rate(testbed, {"a": {"node": "tester", "interface": "p0", "kind": "device"}, "b": end})
    with pytest.raises(ConfigError, match=r"PORT-05(?s:.*)veth pair"):
        require_rate(testbed, {"a": {"node": "tester", "interface": "p0", "kind": "veth"}, "b": nic})


def test_a_veth_tells_a_speed_that_is_no_rate(tmp_path, monkeypatch):
    (tmp_path / "eth1").mkdir()
    (tmp_path / "eth1" / "speed").write_text("10000\n")
    monkeypatch.setattr(lab_port, "_SYS_NET", tmp_path)
    for kind, rate_bps in (("", 10**10), ("veth", None)):
        monkeypatch.setattr(interfaces, "listing", lambda kind=kind: [{"name": "eth1", "kind": kind}])
        assert lab_port.line_rate_bps(interface="eth1") == rate_bps


def with_ports(count):
    """Change the embedded file: so many tester ports, each linked to the first node."""

    def change(data):
        data["tester"]["ports"] = [f"tester/p{number}" for number in range(count)]
        data["links"] = [{"a": f"tester/p{number}", "b": f"dut1/nic{number}"} for number in range(count)]

    return change


@pytest.mark.parametrize("count", range(2, 9))
def test_a_file_may_name_two_to_eight_ports_of_one_kind(tmp_path, count):
    testbed = load_testbed(changed(tmp_path, with_ports(count)))
    assert len(testbed.tester.ports) == len(testbed.tester.ios) == count
    kind = port_kind(testbed)
    assert count == 2 or (kind.used == "af_xdp" and "two ports" in kind.reason)
    assert {kind.of(number) for number in range(count)} == {kind.used}


@pytest.mark.parametrize(
    ("count", "tester", "fragment"),
    [
        (1, {}, "tester.ports"),
        (9, {}, "tester.ports"),
        (3, {"io": "xdp"}, "tester.io: expected af_xdp"),
        (3, {"io": ["af_xdp", "af_packet"]}, "all of one io"),
        (3, {"driver": "trex", "io": "af_packet", "options": {}}, "2 ports of driver trex"),
    ],
)
def test_more_ports_are_refused_where_they_cannot_be(tmp_path, count, tester, fragment):
    def change(data):
        with_ports(count)(data)
        data["tester"] |= tester

    assert fragment in str(refusal(changed(tmp_path, change)))
