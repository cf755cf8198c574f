"""How a ledger names a cluster: `bmwg cleanup` may run in another folder, with another current context."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import yaml

from bmwg.drivers.containers import kubernetes
from bmwg.drivers.kubernetes.access import Access, lasting
from bmwg.methodology.errors import ConfigError


def kubeconfig(current: str) -> str:
    names = ("lab", "other")
    told = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}.example"}} for name in names],
        "users": [{"name": "me", "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in names],
        "current-context": current,
    }
    return yaml.safe_dump(told)


def test_the_cluster_of_a_run_stays_the_one_that_it_was_begun_on(tmp_path, monkeypatch):
    """Another cluster has no namespace of that name: the undo would be taken for done."""
    file = tmp_path / "config"
    file.write_text(kubeconfig("lab"))
    monkeypatch.chdir(tmp_path)
    access = lasting(Access(kubeconfig="config"))
    assert access == Access(kubeconfig=str(file), context="lab")
    file.write_text(kubeconfig("other"))
    monkeypatch.chdir("/")
    assert lasting(Access(**access.data())) == access
    monkeypatch.setenv("HOME", str(tmp_path))
    assert lasting(Access(kubeconfig="~/config", context="lab")) == access


def test_a_kubeconfig_without_a_current_context_is_refused(tmp_path):
    (tmp_path / "config").write_text(kubeconfig(""))
    with pytest.raises(ConfigError, match="KUBE-10"):
        lasting(Access(kubeconfig=str(tmp_path / "config")))


def test_a_run_opens_its_cluster_by_that_way(tmp_path, monkeypatch):
    (tmp_path / "config").write_text(kubeconfig("lab"))
    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr(kubernetes, "Cluster", opened.append)
    told = {"kubeconfig": "config", "image": "busybox"}
    runtime = kubernetes.KubernetesRuntime(run_dir="/run/x", undo=SimpleNamespace(), options=told)
    with pytest.raises(TypeError), runtime.standing({}, cpus="1"):  # there is no cluster
        pass
    assert opened == [Access(kubeconfig=str(tmp_path / "config"), context="lab")]
