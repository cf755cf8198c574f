"""An eviction whose answer is lost is asked for again, when the pod has gone: no error of the drain."""

from __future__ import annotations

import pytest
from kubernetes.client.exceptions import ApiException

from bmwg.drivers.kubernetes import client, nodes
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.methodology.errors import TestbedError


@pytest.fixture
def evict(monkeypatch):
    monkeypatch.setattr(client.time, "sleep", lambda _: None)

    def act(*answers):
        told = list(answers)
        api = Cluster.__new__(Cluster)
        api.repeats, api._within_s = [], 5.0

        def asked(*_, **__):
            raise told.pop(0)

        api._request = asked
        nodes.evict(api, "bmwg-1", "pod", grace_s=1, within_s=5.0)
        return api.repeats

    return act


def test_a_pod_that_is_gone_when_it_is_asked_for_again_was_evicted(evict):
    assert len(evict(ConnectionResetError(), ApiException(status=404))) == 1


def test_a_pod_that_was_never_there_is_an_error(evict):
    with pytest.raises(TestbedError, match="KUBE-25"):
        evict(ApiException(status=404))


def test_a_right_that_is_missing_is_one_after_a_lost_answer_too(evict):
    with pytest.raises(TestbedError, match="KUBE-22"):
        evict(ConnectionResetError(), ApiException(status=403))
