"""Path `switch`: what its switches carry, learn and have no room for; what they leave; what is refused."""

import subprocess
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest
from tests.contract.deploying import bed_in, four_port_tester
from tests.contract.trials_support import lossless, whole
from tests.needs import able

from bmwg.drivers import registry
from bmwg.drivers.network import datapath
from bmwg.drivers.paths import path_driver
from bmwg.drivers.platform_record import netlink
from bmwg.drivers.ports import interfaces
from bmwg.drivers.switch import bridge_calls, ovs_calls
from bmwg.drivers.switch.settings import TableSettings
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.traffic.embedded.lanes import capabilities_of
from bmwg.drivers.traffic.embedded.ports import pads_nothing
from bmwg.methodology.benchmarks import illegal_frames
from bmwg.methodology.errors import ConfigError, TestbedError
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell, Direction, OutcomeType, TrialSpec
from bmwg.methodology.trial.capabilities import Capability
from bmwg.methodology.trial.judging import JudgedTrial, TrialPolicy, assess
from bmwg.methodology.trial.pattern import Pattern, full_mesh
from bmwg.resources.run.early import require_levels

pytestmark = pytest.mark.root
POLLS = pytest.param("ovs-dpdk", marks=pytest.mark.quiet)  # the one switch that takes a CPU
SWITCHES = ("linux-bridge", "ovs-netdev", pytest.param(*POLLS.values, marks=(*POLLS.marks, pytest.mark.slow)))
BOUND = 64
NICS = ("nic0", "nic1", "nic2", "nic3")
every_switch = pytest.mark.parametrize("name", SWITCHES)


def cell(name, **settings):
    axes = tuple((f"functions.{name}.{key}", value) for key, value in settings.items())
    return Cell(path="switch", hosting=BAREMETAL, function=name, network=NOTHING, frame_octets=64, axes=axes)


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    with bed_in(tmp_path_factory.mktemp("run"), load_testbed("testbeds/switch.yaml")) as opened:
        yield opened


@pytest.fixture(scope="module")
def tester(tmp_path_factory):
    with four_port_tester(tmp_path_factory.mktemp("tester")) as running:
        yield running


@contextmanager
def deployed(bed, wanted):
    with able(path_driver(wanted, bed)).deploy() as deployment:
        yield deployment


def trial(pattern, load_fps=2_000, duration_s=0.2):
    return TrialSpec(frame_octets=64, load_fps=load_fps, duration_s=duration_s, pattern=pattern)


def seen(bed):
    view = bed.node("dut1").call(datapath.observe)
    links = sorted((one["name"], one["master"], one["kind"]) for one in view["interfaces"])
    return links, view["routes"], bed.undo.pending


def promiscuous(bed):
    links = bed.node("dut1").call(netlink.dump, what="links")
    return [link["name"] for link in links if link["promiscuous"]]


def to_its_port(result):
    """Whether nothing was lost or flooded: with DPDK a flow that floods stands for a while after learning."""
    return lossless(result) and not any(stream.flooded_frames for stream in result.streams)


@pytest.mark.quiet
@every_switch
def test_a_mesh_of_four_goes_through_and_nothing_stays(bed, tester, name):
    before = seen(bed)
    for _ in range(2):
        with deployed(bed, cell(name)) as deployment:
            tester.attach(deployment.ports)
            spec = trial(full_mesh(4))
            tester.learn(spec)
            result = whole(tester, spec, to_its_port if name == "ovs-dpdk" else lossless)
            pair = TrialSpec(frame_octets=64, load_fps=2_000, duration_s=0.1, direction=Direction.BOTH)
            between_two = whole(tester, pair, lossless)
            known = registry.switch(name, bed).table(bed.node("dut1"))
            tester.detach()
        told = dict(result.auxiliary)
        assert result.fault is None
        for port, stream in zip(deployment.ports, result.streams, strict=True):
            assert stream.received_frames == stream.sent_frames > 0
            assert stream.flooded_frames == stream.foreign_frames == stream.duplicate_frames == 0
            assert told[f"{port.name}.rx_packets"] == stream.received_frames
            assert told[f"{port.name}.tx_packets"] == told[f"{port.name}.sent_frames"]
        assert [stream.lost_frames for stream in between_two.streams] == [0, 0]
        assert known == 4  # the addresses of the tester's ports, and no others
        assert seen(bed) == before


@pytest.mark.parametrize("name", ["ovs-netdev", POLLS])
def test_nics_have_their_mtu_again_when_a_switch_has_ended(bed, name):
    """A NIC made ready for oversized frames is so for the cells behind; DPDK sets 1500."""
    node = bed.node("dut1")
    for nic in NICS:
        node.call(interfaces.set_mtu, interface=nic, mtu_octets=1501)
    try:
        with deployed(bed, cell(name)):
            pass
        after = [node.call(interfaces.mtu_octets, interface=nic) for nic in NICS]
    finally:
        for nic in NICS:
            node.call(interfaces.set_mtu, interface=nic, mtu_octets=1500)
    assert after == [1501] * 4


@pytest.mark.parametrize("name", ["linux-bridge", "ovs-netdev", POLLS])
def test_the_record_has_the_settings_as_asked_and_as_found(bed, name):
    with deployed(bed, cell(name, ageing_s=77, table_entries=BOUND)) as deployment:
        told = deployment.evidence["function"]["settings"]
    assert told["asked"] == {"ageing_s": 77, "entries": BOUND}
    assert (told["found"]["ageing_s"], told["found"]["table_entries"]) == (77, BOUND)
    assert len(deployment.evidence["hops"]) == 8
    assert len(deployment.evidence["device_queues"]) == 4
    if name == "ovs-dpdk":  # each NIC is a port of DPDK, and the DUT's CPU polls all of them
        function = deployment.evidence["function"]
        assert set(function["nic_drivers"].values()) == {"net_af_packet"}
        assert function["dpdk"]["pmd-maxsleep"] == "0"  # as while it was set up no more
        (poller,) = function["pollers"]
        assert [poller["cpu"]] == list(bed.testbed.dut.cpus[:1])
        assert {queue["port"] for queue in poller["queues"]} == {f"nic{number}" for number in range(4)}
    assert not promiscuous(bed)  # else the platform has changed for every cell that follows


def flooded_of(bed, tester, name, addresses):
    """Teach so many addresses of one port, then send a frame to each: flooded at two others, and known."""
    with deployed(bed, cell(name, table_entries=BOUND)) as deployment:
        tester.attach(deployment.ports)
        taught = whole(
            tester,
            trial(Pattern(to=((), (0,), (), ()), sources=addresses), load_fps=10 * addresses, duration_s=0.1),
            lossless,
        )
        known = registry.switch(name, bed).table(bed.node("dut1"))
        asked = trial(
            Pattern(to=((1,), (), (), ()), destinations=addresses), load_fps=10 * addresses, duration_s=0.1
        )
        result = whole(tester, asked, lossless)
        tester.detach()
    assert taught.streams[0].sent_frames == addresses
    assert result.streams[1].received_frames == addresses
    assert result.streams[2].flooded_frames == result.streams[3].flooded_frames
    return result.streams[2].flooded_frames, known


@pytest.mark.quiet
@pytest.mark.parametrize(
    ("name", "room"),
    [
        ("linux-bridge", BOUND),  # a full table learns nothing more, not the address that asks either
        ("ovs-netdev", BOUND - 1),  # a full table forgets its oldest entry for the address that asks
    ],
)
def test_a_table_holds_as_many_addresses_as_it_was_given(bed, tester, name, room):
    assert flooded_of(bed, tester, name, room) == (0, room)
    flooded, known = flooded_of(bed, tester, name, 2 * BOUND)
    assert (flooded, known) == (2 * BOUND - room, BOUND)


def judged_by(tester, taken):
    """Return what takes trials of a measurement, keeps them, and judges them by what was sent alone."""
    policy = TrialPolicy(max_stall_ns=10**9)

    def take(spec, phase):
        taken.append(tester.run(spec))
        judged = assess(taken[-1], policy)
        return JudgedTrial(seq=len(taken), result=taken[-1], validity=judged.validity, reason=judged.reason)

    return take


@pytest.mark.quiet
@every_switch
def test_the_measured_capacity_is_the_bound_that_was_set(bed, tester, name):
    """Known truth: exact, by the measurement itself. In place of an ageing time the switch is made anew."""
    wanted = replace(
        cell(name, table_entries=BOUND),
        axes=(*cell(name, table_entries=BOUND).axes, ("pattern", "address-table-4")),
    )
    standing = ExitStack()

    def forget():
        tester.detach()
        standing.close()
        tester.attach(standing.enter_context(deployed(bed, wanted)).ports)

    profile = load_profile("rfc2889-quick")
    asked = Asked(
        profile=replace(profile, benchmarks={"caching_capacity": {"first_addresses": BOUND - 2}}),
        cell=wanted,
        outcome_id="x",
        trial=judged_by(tester, []),
        max_load_fps=10_000,
        forget=forget,
    )
    with standing:
        (outcome,) = measurement("caching_capacity").measure(asked).outcomes
        tester.detach()
    assert outcome.type is OutcomeType.MEASURED, outcome.reason
    assert [one.number for one in outcome.values] == [BOUND, BOUND - 1, BOUND]


def undersized(bed, tester, name, *, filtered=False):
    """Measure frames below 64 octets; `filtered`: the switch's ports drop them."""
    wanted = replace(cell(name), axes=(("pattern", "undersize-4"),))
    profile = replace(
        load_profile("rfc2889-quick"), benchmarks={"illegal_frames": {"trial_s": 0.2, "loads_percent": [10]}}
    )
    taken = []
    asked = Asked(
        profile=profile, cell=wanted, outcome_id="x", trial=judged_by(tester, taken), max_load_fps=4_000
    )
    with deployed(bed, wanted) as deployment:
        if filtered:
            filter_short(bed)
        try:
            tester.attach(deployment.ports)
            tester.learn(replace(trial(full_mesh(4)), frame_octets=63))
            assert registry.switch(name, bed).table(bed.node("dut1")) == 4  # learning frames are legal
            (outcome,) = measurement("illegal_frames").measure(asked).outcomes
            tester.detach()
        finally:
            if filtered:
                in_dut(bed, "delete table netdev short")
    assert outcome.type is OutcomeType.MEASURED, outcome.reason
    return outcome, {one.spec.frame_octets: illegal_frames.came(one) / one.sent_frames for one in taken}


def in_dut(bed, rules):
    command = ["nsenter", f"--net={bed.node('dut1').netns_path}", "nft", "-f", "-"]
    subprocess.run(command, input=rules, text=True, check=True, timeout=20)


def filter_short(bed):
    """Drop what comes to the switch in frames below 64 octets, of which the kernel counts 18 less here."""
    in_dut(
        bed,
        """table netdev short {
            chain arriving {
                type filter hook ingress devices = { nic0, nic1, nic2, nic3 } priority 0;
                meta length < 46 drop
            }
        }
        """,
    )


@pytest.mark.quiet
def test_a_frame_of_63_octets_is_lost_and_of_64_passes_where_a_switch_filters(bed, tester):
    """Known truth: not one frame of 60 to 63 octets comes through, and those of 64 octets do."""
    outcome, shares = undersized(bed, tester, "linux-bridge", filtered=True)
    assert shares.pop(64) > 0.5
    assert shares == {60: 0, 61: 0, 62: 0, 63: 0}
    assert outcome.values[0].number == 0
    assert outcome.quality[0] == "pass: undersized frames are filtered"


@pytest.mark.quiet
@every_switch
def test_switches_in_software_forward_undersized_frames_as_they_are(bed, tester, name):
    outcome, shares = undersized(bed, tester, name)
    assert set(shares) == {60, 61, 62, 63, 64}
    assert min(shares.values()) > 0.5
    assert outcome.quality[0].startswith("fail")
    assert [one.number for one in outcome.values if one.metric == illegal_frames.CHANGED] == [0]


@pytest.mark.quiet
def test_only_a_port_that_leaves_short_frames_as_they_are_sends_them(bed, tester):
    with deployed(bed, cell("linux-bridge")) as deployment:
        limits = tester.attach(deployment.ports)
        tester.detach()
        first = deployment.ports[0]
        other = replace(first, device="bmwg-sw0", netns=bed.node("dut1").netns_path)
        assert [pads_nothing(one) for one in (first, other, replace(first, io="xdp"))] == [True, False, False]
    assert (limits.min_frame_octets, Capability.UNDERSIZE in limits.capabilities) == (60, True)
    assert Capability.UNDERSIZE not in capabilities_of(1, (first, replace(first, io="xdp")))


def test_oversized_frames_need_links_that_carry_them(bed):
    wanted = replace(cell("linux-bridge"), frame_octets=1519, axes=(("pattern", "oversize-4"),))
    assert "MTU is 1500" in path_driver(wanted, bed).probe().reason


def test_a_switch_that_is_not_as_asked_is_no_switch_to_measure():
    settings = TableSettings(ageing_s=300, entries=64)
    assert settings.told("x", {"ageing_s": 300, "table_entries": 64, "stp": False})["found"]["stp"] is False
    for found in ({"ageing_s": 299, "table_entries": 64}, {"ageing_s": 300, "table_entries": 2048}, {}):
        with pytest.raises(TestbedError, match="SWITCH-01"):
            settings.told("x", found)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("linux-bridge", {"ageing": 3}),
        ("linux-bridge", {"ageing_s": 9}),
        ("linux-bridge", {"table_entries": 10**7}),
        ("ovs-netdev", {"table_entries": 9}),
        ("ovs-netdev", {"ageing_s": 14}),
    ],
)
def test_a_setting_that_no_switch_has_is_refused_before_the_run(bed, name, wrong):
    with pytest.raises(ConfigError, match="FUNC-01"):
        require_levels(bed.testbed, [cell(name, **wrong)], "a profile")
    with pytest.raises(ConfigError, match="FUNC-01"):
        path_driver(cell(name, **wrong), bed)


@every_switch
def test_a_deployment_that_fails_midway_leaves_nothing(bed, name, monkeypatch):
    before = seen(bed)
    calls = bridge_calls if name == "linux-bridge" else ovs_calls
    driver = path_driver(cell(name), bed)
    if driver.probe() is not None:
        pytest.skip("its programs are not here")
    monkeypatch.setattr(TableSettings, "told", _broken)
    with pytest.raises(RuntimeError, match="midway"), driver.deploy():
        raise AssertionError("it was deployed")
    assert calls
    assert seen(bed) == before


def _broken(self, name, found):
    raise RuntimeError("midway")
