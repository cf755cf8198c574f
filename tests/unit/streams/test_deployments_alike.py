"""Two deployments of one way have equal records, also where a run goes on: else its cells are invalid."""

from types import SimpleNamespace

from bmwg.drivers.paths import endpoints
from bmwg.methodology.kinds.streams import profile
from bmwg.resources.kinds.streams.bench import StreamsBench


def test_a_hop_is_not_named_by_what_is_drawn_at_each_deployment():
    first, again = (
        endpoints.Endpoint(
            number=1,
            pod=SimpleNamespace(pod_id=f"bmwg-{drawn}-1"),
            attached=SimpleNamespace(link_kind="veth", host_interface=None),
            check={},
            queue={},
            speaker=endpoints.KERNEL,
        ).hops()
        for drawn in ("485eda-2", "998224-6")
    )
    assert first == again
    assert first[0]["at"] == "pod1/net0"


def planned(path, network):
    """A cell of a way."""
    return next(
        one
        for one in profile.PROFILES.load("quick").plan()
        if (one.cell.path, one.cell.network) == (path, network)
    )


def test_a_way_has_all_its_programs_whatever_is_answered_already():
    bench = object.__new__(StreamsBench)
    bench.whole_plan = profile.PROFILES.load("quick").plan()
    bench.testbed = SimpleNamespace(nodes=())
    bench._bed = SimpleNamespace()
    assert set(bench._workloads(planned("p2p", "bridge"))) == {"iperf3", "sockperf"}
