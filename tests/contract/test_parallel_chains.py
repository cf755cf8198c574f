"""Chains beside each other on real pods: each chain's networks pass its own functions, and nothing stays."""

import ipaddress
import json
from dataclasses import replace

import pytest
from tests.contract.deploying import all_seen, bed_in, cell_on, embedded
from tests.contract.paths_support import PacketTester
from tests.contract.trials_support import whole
from tests.needs import able, needs_cni

from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.addresses import BEHIND, consecutive
from bmwg.drivers.platform_record import deployment as record_of
from bmwg.drivers.ports import interfaces
from bmwg.drivers.traffic.embedded.driver import EmbeddedTraffic
from bmwg.methodology.cells import parallel
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import FrameFormat
from bmwg.methodology.trial.traffic import Traffic

pytestmark = [pytest.mark.root, needs_cni]


def cell(text, network="ptp", function="kernel-l3"):
    one = cell_on("parallel", network, function, chains=text)
    return replace(one, destination_networks=len(parallel.members(text)))


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    with bed_in(folder, embedded(io="af_xdp"), destination_networks=3) as opened:
        yield opened


CELLS = [
    cell("a>s+b>s"),
    *(
        pytest.param(one, marks=(pytest.mark.slow, pytest.mark.quiet))  # `tox -e models`
        for one in (
            cell("a>b+c+b>a"),
            cell("a>s+b>s", "ptp", "testpmd"),
            cell("a+b", "ovs-dpdk", "testpmd"),
            cell("a>s+b>s", "ovs-dpdk", "testpmd"),
        )
    ),
]


@pytest.mark.parametrize("one", CELLS, ids=lambda one: one.cell_id)
def test_each_network_passes_the_functions_of_its_own_chain_both_ways_and_nothing_stays(bed, one):
    driver = able(path_driver(one, bed))
    before = all_seen(bed)
    chains = parallel.of(one)
    with driver.deploy() as deployment, PacketTester(deployment.ports) as tester:
        told = json.loads(json.dumps(deployment.evidence["chains"]))
        for source in (0, 1):
            for version, ipv6 in ((0, False), (1, True)):
                prefixes = consecutive(BEHIND[1 - source][version], len(chains))
                for number, prefix in enumerate(prefixes):
                    assert prefix in told["services"][number]["networks"][1 - source]
                    to = str(ipaddress.ip_network(prefix)[2])
                    marker = f"from {source} to {to}".encode()
                    came = tester.carry(source, marker, ipv6=ipv6, frame_octets=128, to=to)
                    assert came is not None, f"{marker!r} did not come through"
                    assert came[:6] == bytes.fromhex(deployment.ports[1 - source].mac.replace(":", ""))
                    if one.function == "kernel-l3" and not ipv6:  # each router takes one from the lifetime
                        assert 64 - came[22] == 2 * len(chains[number]) + 1
        assert [one["name"] for one in told["members"]] == list(parallel.functions(chains))
        assert told["shared"] == list(parallel.shared(chains))
        records = record_of.take(bed, one, deployment, {"driver": "embedded", "cpus": [0]})
    topology = records["tester"]["fields"]["topology"]
    assert topology["services"]["value"]["chains_at_once"] == len(chains)
    assert [tuple(each["functions"]) for each in topology["chains"]["value"]] == list(chains)
    assert all_seen(bed) == before


def served(result, number):
    """Whether nearly all of a chain's frames came; a DUT without its CPU loses what no queue holds."""
    share = parallel.shares([result])[number]
    return share.received_frames > 0.9 * share.offered_frames


@pytest.mark.quiet
def test_the_tester_counts_each_chain_and_a_chain_that_is_cut_is_not_hidden_behind_the_other(bed, tmp_path):
    one = cell("a+b")
    driver = able(path_driver(one, bed))
    offer = Traffic.of(one)
    with driver.deploy() as deployment, EmbeddedTraffic.for_testbed(bed.testbed, tmp_path, 0.02) as tester:
        tester.attach(deployment.ports)
        spec = offer.spec(10_000, 0.5)
        tester.learn(spec)
        uncut = parallel.shares([whole(tester, spec, lambda one: served(one, 0) and served(one, 1))])
        node = bed.node("dut1")
        (host,) = (
            item["mapping"]["host_interface"] if "mapping" in item else item["host_side"]["name"]
            for item in deployment.evidence["attachments"]
            if item["member"] == "b" and item["interface"]["name"] == "net0"
        )
        node.call(interfaces.down, interface=host)
        cut = parallel.shares([whole(tester, spec, lambda one: served(one, 0))])
    assert [share.number for share in uncut] == [0, 1]
    assert all(share.offered_frames > 2_000 for share in uncut)
    assert all(share.received_frames > 0.9 * share.offered_frames for share in uncut)
    assert cut[0].received_frames > 0.9 * cut[0].offered_frames
    assert cut[1].received_frames == 0 < cut[1].offered_frames


@pytest.mark.parametrize("network", ["bridge", "macvlan", "ebpf-tc"])
def test_an_option_that_leads_no_frame_by_its_destination_is_refused_by_name(bed, network):
    missing = path_driver(cell("a+b", network), bed).probe()
    assert missing.what == f"2 chains at once on network {network}"


def test_bare_frames_and_a_cell_without_a_network_for_each_chain_are_refused_by_name(bed):
    bare = replace(cell("a+b"), frame_format=FrameFormat.ETHERNET)
    assert "no destination network" in path_driver(bare, bed).probe().reason
    single = replace(cell("a+b"), destination_networks=1)
    assert "frames go to 1 networks" in path_driver(single, bed).probe().reason


def test_a_chain_that_loops_is_refused_before_anything_is_made(bed):
    before = all_seen(bed)
    with pytest.raises(ConfigError) as caught:
        path_driver(replace(cell("a+b"), axes=(("chains", "a>b>a+c"),)), bed)
    assert "'a' comes twice" in str(caught.value)
    assert all_seen(bed) == before
