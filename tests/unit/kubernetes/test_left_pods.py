"""A pod that stayed is removed before another is made, or named; functions get CPUs of their own."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bmwg.drivers.containers.crun import CrunRuntime
from bmwg.drivers.containers.kubernetes import KubernetesRuntime
from bmwg.drivers.kubernetes import pods, run_namespace
from bmwg.drivers.kubernetes.client import OWNER_LABEL
from bmwg.methodology.errors import DriverError


@pytest.fixture
def runtime(tmp_path):
    made = KubernetesRuntime(run_dir=str(tmp_path), undo=SimpleNamespace(), options={})
    made._api = SimpleNamespace()
    return made


def test_a_pod_that_stayed_is_removed_first_or_named(runtime, monkeypatch) -> None:
    runtime._left = {"bmwg-1": ["bmwg-1-0"]}
    asked = []

    def stays(api, namespace, name, networks, *, within_s):
        asked.append((name, list(networks)))
        raise DriverError("KUBE-41", f"pod {name}", expected="gone", found="there")

    monkeypatch.setattr(pods, "remove", stays)
    with pytest.raises(DriverError, match="KUBE-41"):
        runtime._clear()
    assert runtime._left == {"bmwg-1": ["bmwg-1-0"]}
    monkeypatch.setattr(pods, "remove", lambda *told, within_s: asked.append(told[2]))
    runtime._clear()
    assert runtime._left == {}
    assert asked == [("bmwg-1", ["bmwg-1-0"]), "bmwg-1"]


def test_functions_of_a_chain_are_refused_by_name_where_each_has_all_cpus(runtime, tmp_path) -> None:
    assert runtime.side_by_side(1) is None
    assert "2 pods with functions" in runtime.side_by_side(2).what
    assert CrunRuntime(run_dir=str(tmp_path), undo=SimpleNamespace()).side_by_side(3) is None


class Api:
    """A cluster on whose lost node a pod stays, and its namespace with it."""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass

    def delete(self, path):
        assert path == "/api/v1/namespaces/bmwg-1"

    def get(self, path, **_):
        if path.endswith("/pods"):
            return {"items": [{"metadata": {"name": "p-1"}, "spec": {"nodeName": "worker-3"}}]}
        if path == "/api/v1/nodes/worker-3":
            said = "Kubelet stopped posting node status."
            return {"status": {"conditions": [{"type": "Ready", "status": "Unknown", "message": said}]}}
        return {"metadata": {"labels": {OWNER_LABEL: "t"}}}


def test_a_namespace_that_stays_says_which_node_is_lost(monkeypatch) -> None:
    monkeypatch.setattr(run_namespace, "Cluster", lambda access, within_s: Api())
    with pytest.raises(DriverError, match="KUBE-41") as refused:
        run_namespace.remove(access={}, name="bmwg-1", owner="t", within_s=0.0)
    told = "there; pod p-1: its node is not ready: Kubelet stopped posting node status."
    assert refused.value.found == told
    assert "bmwg cleanup" in refused.value.hint
    assert run_namespace.remove(access={}, name="bmwg-1", owner="another", within_s=0.0) is False
