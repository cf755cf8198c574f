"""What our driver takes to deploy a pod, against `kubectl apply` and a watch: paired, interleaved.

Both make the same manifest on the run's own cluster, with two networks, from the request until the cluster
says that the container runs; each is first as often as the other, and what each removes is not timed.
`kubectl apply --server-side` is one program, `kubectl wait` the other; both start within the time, as they do
for whoever types them. `client` in place of a program's path asks by the official Python client alone: an
apply of each object, then its own watch. Prints JSON: milliseconds, and the median of the pairs' ratios (ours
to the other) with the interval of order statistics that covers it with at least 90 %.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ending import end_in_order
from holding import keep_awake
from kubernetes_pair import TESTBED, interval

from bmwg.drivers.api.protocols import Attachment, PodNetwork
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.kubernetes import attachments, manifest, pods
from bmwg.drivers.kubernetes.settings import PAUSE_IMAGE
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.testbed.file import load_testbed
from bmwg.drivers.undo.ledger import Ledger

WITHIN_S = 120
CLIENT = "client"


def networks_of(bed: Bed) -> list[PodNetwork]:
    """Return the two attachments that both are to make."""
    driver = bed.network("bridge")
    return [
        PodNetwork(
            driver=driver,
            attachment=Attachment(
                network="bridge", interface=f"net{side}", side=side, addresses=(f"198.18.{side}.9/24",)
            ),
            bridge=f"bmwg-br{side}",
        )
        for side in (0, 1)
    ]


def spec_of(name: str) -> PodSpec:
    """Return the pod that both are to make."""
    return PodSpec(pod_id=name, cpus="1", memory_octets=64 << 20, forwarding=False, root=False, endpoint=True)


def ours(bed: Bed, name: str) -> float:
    """Return the milliseconds of our driver, until the cluster says that the container runs."""
    began_ns = time.monotonic_ns()
    with bed.runtime.made(bed.node("dut1"), spec_of(name), networks_of(bed)) as pod:
        return (pod.start_steps_ns["container_running"] - began_ns) / 1e6


def objects(bed: Bed, name: str) -> list[dict[str, Any]]:
    """Return what our driver applies, in its order."""
    runtime: Any = bed.runtime
    spec, wanted = spec_of(name), networks_of(bed)
    resources = [(f"{name}-{number}", runtime.conflist(one)) for number, one in enumerate(wanted)]
    body = manifest.pod(
        spec,
        namespace=runtime.namespace,
        owner="benchmark",
        image=PAUSE_IMAGE,
        node="dut1",
        networks=[(key, one.attachment.interface) for (key, _), one in zip(resources, wanted, strict=True)],
    )
    labels = body["metadata"]["labels"]
    made = [attachments.definition(key, runtime.namespace, found, labels) for key, found in resources]
    return [*made, body]


def theirs(bed: Bed, program: str, name: str) -> float:
    """Return the milliseconds of an apply and a watch, by kubectl or the official client."""
    runtime: Any = bed.runtime
    every = objects(bed, name)
    try:
        began_ns = time.monotonic_ns()
        if program == CLIENT:
            by_client(runtime, every, name)
        else:
            by_kubectl(bed, program, every, name)
        return (time.monotonic_ns() - began_ns) / 1e6
    finally:
        pods.remove(runtime.api, runtime.namespace, name, [f"{name}-0", f"{name}-1"], within_s=WITHIN_S)


def by_kubectl(bed: Bed, program: str, every: list[dict[str, Any]], name: str) -> None:
    """Apply and wait as somebody at a terminal does, in the namespace where the API listens."""
    runtime: Any = bed.runtime
    access = runtime.api.access
    node = bed.node("dut1")
    enter = ["nsenter", f"--net=/proc/{node.pid}/ns/net", program, "--kubeconfig", access.kubeconfig]
    enter += ["--namespace", runtime.namespace, "--cache-dir", str(bed.run_dir / "kubectl")]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": every})
    apply = ["apply", "--server-side", "--field-manager=benchmark", "-f", "-"]
    wait = ["wait", "--for=condition=Ready", f"pod/{name}", f"--timeout={WITHIN_S}s"]
    for words, told in ((apply, text), (wait, None)):
        done = subprocess.run(
            [*enter, *words], input=told, capture_output=True, text=True, timeout=WITHIN_S, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"kubectl {' '.join(words)}: {done.stderr.strip()[-400:]}")


def by_client(runtime: Any, every: list[dict[str, Any]], name: str) -> None:
    """Apply by the official dynamic client, and watch by its own watch."""
    from kubernetes import client, dynamic, watch

    api = runtime.api._api
    made = dynamic.DynamicClient(api)
    for one in every:
        kind = made.resources.get(api_version=one["apiVersion"], kind=one["kind"])
        kind.server_side_apply(
            body=one, name=one["metadata"]["name"], namespace=runtime.namespace, field_manager="benchmark"
        )
    listed = client.CoreV1Api(api).list_namespaced_pod
    for event in watch.Watch().stream(
        listed, runtime.namespace, field_selector=f"metadata.name={name}", timeout_seconds=WITHIN_S
    ):
        states = event["object"].status.container_statuses or []
        if states and states[0].state.running:
            return
    raise SystemExit(f"{name}: it does not run")


def main() -> None:
    """Measure and print."""
    held = keep_awake()
    end_in_order()
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=20)
    options.add_argument("--against", default="kubectl", help="kubectl's path, or `client`")
    wanted = options.parse_args()
    took: dict[str, list[float]] = {"ours": [], "theirs": []}
    try:
        measured(wanted.pairs, wanted.against, took)
    finally:  # a time limit ends it in order: what was measured by then is told
        print(json.dumps(told_of(took, wanted.against, held), indent=1))


def measured(pairs: int, against: str, took: dict[str, list[float]]) -> None:
    """Deploy in pairs; put the milliseconds of each into `took`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledger = Ledger(folder / "ledger.jsonl", index_dir=folder)
        with open_bed(load_testbed(TESTBED), ledger, folder) as bed:
            for number in range(-1, pairs):  # the first pair warms up and does not count
                order = ("ours", "theirs") if number % 2 == 0 else ("theirs", "ours")
                told = {}
                for who in order:
                    pod = f"{who}-{number + 1}"
                    told[who] = ours(bed, pod) if who == "ours" else theirs(bed, against, pod)
                print(json.dumps(told), file=sys.stderr, flush=True)
                if number >= 0:
                    for who, value in told.items():
                        took[who].append(value)


def told_of(took: dict[str, list[float]], against: str, held: dict[str, Any]) -> dict[str, Any]:
    """Return the benchmark's document."""
    ratios = [a / b for a, b in zip(took["ours"], took["theirs"], strict=True)]
    return {
        "benchmark": "kubernetes_apply",
        "kept_awake": held,
        "against": Path(against).name,
        "pairs": len(ratios),
        "container_running_ms": {who: interval(values) for who, values in took.items()},
        "ours_to_theirs": interval(ratios),
        "mean_ratio": round(statistics.fmean(ratios), 4) if ratios else None,
    }


if __name__ == "__main__":
    main()
