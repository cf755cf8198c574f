"""A pod that has no place: the cluster says so once, and then nothing."""

import time

import pytest

from bmwg.drivers.kubernetes import pods
from bmwg.methodology.errors import TestbedError

PLACED = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes are available: 1 Insufficient cpu"}


class Silent:
    """A cluster that tells of a pod what there is, and no change of it."""

    def __init__(self):
        self.looks = 0

    def watch(self, path, *, within_s, **query):
        self.looks += 1
        yield "ADDED", {"metadata": {}, "status": {"phase": "Pending", "conditions": [PLACED]}}
        time.sleep(within_s)


def test_it_is_looked_at_again_and_given_up(monkeypatch):
    monkeypatch.setattr(pods, "UNPLACED_S", 0.1)
    monkeypatch.setattr(pods, "_LOOK_S", 0.06)
    api = Silent()
    with pytest.raises(TestbedError) as refused:
        pods.wait_running(api, "n", "p", pods.Phases(), within_s=5.0)
    assert refused.value.error_id == "KUBE-40"
    assert "Insufficient cpu" in refused.value.found
    assert api.looks > 1
