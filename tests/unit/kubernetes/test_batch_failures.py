"""Pods at once of which some fail: what the cluster says of each is its own, and the others run."""

from __future__ import annotations

import pytest

from bmwg.drivers.kubernetes.batch import Batch
from bmwg.drivers.workload.failed_starts import failure_of
from bmwg.methodology.errors import TestbedError, ToolkitError
from bmwg.methodology.kinds.acts.records import Failure

UNPLACED = "0/1 nodes are available: 1 Insufficient memory. preemption: 0/1: Preemption is not helpful"


def pod(name: str, state: dict, *, phase: str = "Pending", placed: str = "") -> dict:
    conditions = [{"type": "PodScheduled", "status": "False", "message": placed}] if placed else []
    status = {"phase": phase, "conditions": conditions, "containerStatuses": [{"state": state}]}
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": {}, "status": status}


class Api:
    """A cluster that refuses one pod, and says of the others what its table has."""

    def __init__(self) -> None:
        self.watched = {
            "runs": pod("runs", {"running": {}}, phase="Running"),
            "imageless": pod("imageless", {"waiting": {"reason": "ErrImagePull"}}),
            "roomless": pod("roomless", {}, placed=UNPLACED),
            "networkless": pod("networkless", {"waiting": {"reason": "ContainerCreating"}}),
        }

    def apply(self, path: str, body) -> None:
        if path.endswith("/refused"):
            raise TestbedError("KUBE-23", "pod refused", found="exceeded quota")

    def watch(self, path: str, *, within_s: float, **selector):
        for one in self.watched.values():
            yield "MODIFIED", one
        yield "MODIFIED", self.watched["runs"]

    def get(self, path: str, *, within_s: float, **selector):
        about = selector.get("fieldSelector", "")
        event = {"reason": "FailedCreatePodSandBox", "message": "plugin type=bridge failed (add)"}
        return {"items": [event] if "networkless" in about else []}


def batch(api: Api) -> Batch:
    names = (*api.watched, "refused")
    bodies = [{"metadata": {"name": name}} for name in names]
    return Batch(api, None, "bmwg", "b", bodies, "/nowhere")


def test_each_that_fails_has_its_own_kind_and_the_others_run() -> None:
    made = batch(Api())
    made.ask(lambda at: at, keeps_on=True)
    made.wait_running(within_s=1.0, keeps_on=True)
    assert {name: failure_of(error) for name, error in made.failed.items()} == {
        "imageless": Failure.NOT_BOOTED,
        "roomless": Failure.NOT_SCHEDULED,
        "networkless": Failure.NO_NETWORK,
        "refused": Failure.NOT_SCHEDULED,
    }
    assert made.phases["runs"].running_ns is not None


def test_where_failures_are_not_counted_the_first_ends_it() -> None:
    made = batch(Api())
    with pytest.raises(ToolkitError, match="KUBE-23"):
        made.ask(lambda at: at)
    with pytest.raises(ToolkitError, match="KUBE-40"):
        made.wait_running(within_s=1.0)


def test_of_a_batch_that_was_refused_as_a_whole_nothing_is_awaited() -> None:
    api = Api()
    api.watched = {}
    made = batch(api)
    made.ask(lambda at: at, keeps_on=True)
    made.wait_running(within_s=1.0, keeps_on=True)
    assert list(made.failed) == ["refused"]
