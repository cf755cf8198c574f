"""Whoever ends a run is heard amid a question to a cluster's API; what the API does is not taken for that."""

import pytest
from robot.errors import ExecutionFailed

from bmwg.drivers.kubernetes.client import Cluster
from bmwg.methodology.errors import DriverError

ACTS = (
    lambda cluster: cluster.get("/version"),
    lambda cluster: cluster.text("/metrics"),
    lambda cluster: next(iter(cluster.watch("/api/v1/pods", within_s=0.2)), None),
)


def asking(error):
    """Return a cluster whose every question ends so."""
    cluster = object.__new__(Cluster)
    cluster._within_s, cluster.repeats = 0.05, []

    def request(*_, **__):
        raise error

    cluster._request = request
    return cluster


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize(
    "stop", [ExecutionFailed("Execution terminated by signal", exit=True), KeyboardInterrupt(), MemoryError()]
)
def test_the_end_of_a_run_is_no_answer_of_the_api(act, stop):
    pytest.importorskip("kubernetes")
    with pytest.raises(type(stop)):
        act(asking(stop))


def test_a_connection_that_breaks_is_asked_again():
    pytest.importorskip("kubernetes")
    cluster = asking(ConnectionResetError("reset"))
    with pytest.raises(DriverError, match="KUBE-21"):
        cluster.get("/version")
    assert cluster.repeats or cluster._within_s < 0.1
