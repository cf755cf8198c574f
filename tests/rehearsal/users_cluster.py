"""A user's cluster whose node is another machine: a control plane here, kubelet and containerd in a guest.

The guest is the device's host of `apart.py`, reached over SSH; its kubelet joins the control plane by the
management network. The user has a kubeconfig with the rights of docs/my-cluster.md. The runner is killed amid
a pod's cell and the run resumed; the guest loses its power amid another, which interrupts the run, boots
again, and the run goes on. Usage: `python -m tests.rehearsal.users_cluster FOLDER`, root; FOLDER is made,
with the journal `rehearsal.jsonl` (`course.py`). The exit status is that of `bmwg verify`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml
from tests.kubernetes import users_rights
from tests.rehearsal.apart import CALL_DEADLINE_S, DEVICE, HERE_IPV4, THERE_IPV4, Lab, said_by
from tests.rehearsal.course import Course, in_own_namespaces

from bmwg.drivers.containers.bundle import SLEEPER
from bmwg.drivers.kubernetes import cluster, image, settings
from bmwg.drivers.kubernetes import programs as kubernetes_programs
from bmwg.drivers.kubernetes.access import Access
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.settings import Layout
from bmwg.drivers.machines import guest_run
from bmwg.drivers.nodes import program_files
from bmwg.drivers.ports import interfaces
from bmwg.methodology.errors import ToolkitError

ENDS_WITHIN_S = 2400
NODE = "worker-3"  # the cluster's name of the machine that the testbed file calls DEVICE
IMAGE = "registry.example/busybox:1"
NETWORKS = ("bridge", "ptp", "macvlan", "host-device")
TESTS = ("CN-TPUT-1.1", "CN-TPUT-1.3")
_READY_WITHIN_S = 400.0  # choice: a translated kubelet takes a minute where a metal one takes seconds
_KUBELET_HOME = "/run/cluster"  # in the guest's memory: overlays cannot lie on its root, which is one
_SELDOM = {"syncFrequency": "60s", "nodeStatusUpdateFrequency": "20s"}  # it is translated
# what a run asks of a host first; a translated one reads it over 9p
_FIRST_CALLS = "import bmwg.drivers.nodes.hosts, bmwg.drivers.nodes.namespace, bmwg.drivers.undo.undoing"
_PROFILE = f"""
extends: low-rate
name: users-cluster
title: Function with pods of a cluster whose node is another machine, indicative only
paths:
  - {{path: wire, hosting: none, function: none, networks: none, frame_octets: [64]}}
  - {{path: pvp, hosting: pod, function: kernel-l3, networks: [{", ".join(NETWORKS)}], frame_octets: [64]}}
"""
_JOIN = """
set -eu
mkdir -p {home}/containerd {home}/cni-conf /var/lib/kubelet
mountpoint -q /var/lib/kubelet || mount -t tmpfs -o mode=755 kubelet /var/lib/kubelet
mount --make-rshared /
cp {shared}/node/* {home}/ && mv {home}/10-pods.conflist {home}/cni-conf/
GOMAXPROCS=1 containerd --config {home}/containerd.toml >{home}/containerd.log 2>&1 &
until ctr version >/dev/null 2>&1; do sleep 1; done
for archive in {shared}/image.tar {shared}/users.tar; do
  ctr --namespace k8s.io images import --no-unpack $archive
done
export GOMAXPROCS=1
exec {kubelet} >{home}/kubelet.log 2>&1
"""


# the cluster's bridge stays after its first pod, so the addresses of its own network are left out
_LOOKS = """
ip -o link | grep -v cni0 | cut -d' ' -f2,3
ip -4 route | grep -v cni0
ls -d /var/lib/bmwg/run-* 2>/dev/null || true
"""


class ClusterLab(Lab):
    """The lab of `apart.py`, whose guest is a node of a cluster that has its control plane here."""

    def __init__(self, folder: Path, course: Course) -> None:
        super().__init__(folder)
        self._course = course
        self._control: list[subprocess.Popen[bytes]] = []
        self.layout = Layout(
            name=NODE,
            number=0,
            folder=_KUBELET_HOME,
            shared=str(folder / "cluster"),
            programs=kubernetes_programs.folder(),
            address=THERE_IPV4,
            api_address=HERE_IPV4,
            cgroup="/",
            function_cpus="1",
            other_cpus="0",
            program_cpus="0",
        )
        self.admin = Access(kubeconfig=f"{self.layout.shared}/admin.kubeconfig")

    def __enter__(self) -> ClusterLab:
        try:
            super().__enter__()
            self._be_a_user()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        if self._machine is not None:
            self._machine.stop()
        for program in reversed(self._control):
            program.kill()
            program.wait(30)

    def boot(self) -> None:
        """Start the guest anew, and its kubelet; wait until the cluster says that the node is ready."""
        if not self._control:
            self._begin_control_plane()
        super().boot()
        began_s = time.monotonic()
        script = _JOIN.format(
            home=_KUBELET_HOME, shared=self.layout.shared, kubelet=" ".join(self._kubelet())
        )
        self.machine.node.call_within(
            CALL_DEADLINE_S,
            guest_run.start,
            argv=["sh", "-c", script],
            output="/run/join.out",
            folder="/",
            environment={},
        )
        boot_id = said_by(self.folder, DEVICE, "cat /proc/sys/kernel/random/boot_id").strip()
        self._wait_ready(boot_id)
        said_by(self.folder, DEVICE, f"{self.python} -c '{_FIRST_CALLS}'", within_s=CALL_DEADLINE_S)
        self._course.note(
            "node ready", boot_s=self.machine.boot_s, joined_s=round(time.monotonic() - began_s)
        )

    def _begin_control_plane(self) -> None:
        interfaces.add_address(
            interface="lo", address=f"{HERE_IPV4}/32"
        )  # it stays when the guest's tap goes
        shared = Path(self.layout.shared)
        shared.mkdir()
        cluster._write_shared(shared, {NODE: self.layout})
        image.build(shared / "image.tar")
        layer = program_files.layer(image._files())
        image.write(shared / "users.tar", IMAGE, layer, SLEEPER)
        self._write_node(shared / "node")
        for program in settings.control_plane(self.layout):
            with (shared / f"{program['name']}.log").open("wb") as log:
                words = ["setpriv", "--pdeathsig", "KILL", "--", *program["argv"]]
                self._control.append(subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT))
            if program["name"] == "kube-apiserver":
                self._wait_api()

    def _write_node(self, folder: Path) -> None:
        """Write what the node's programs are told, as a user's cluster has it: nothing of it is the run's."""
        folder.mkdir()
        kubelet = settings.kubelet(self.layout)
        del kubelet["allowedUnsafeSysctls"]
        (folder / "kubelet.yaml").write_text(
            yaml.safe_dump({**kubelet, "cgroupRoot": "/", "protectKernelDefaults": False, **_SELDOM})
        )
        (folder / "kubelet.kubeconfig").write_text(
            yaml.safe_dump(settings.kubeconfig(self.layout, f"kubelet-{NODE}"))
        )
        text = settings.containerd(self.layout)
        own = json.dumps(f"{_KUBELET_HOME}/cni-bin")
        (folder / "containerd.toml").write_text(text.replace(own, json.dumps(settings.PLUGIN_DIR)))
        network = settings.bridge_network(self.layout)
        (folder / "10-pods.conflist").write_text(json.dumps(network))

    def _kubelet(self) -> list[str]:
        (found,) = (one for one in settings.node_programs(self.layout) if one["name"] == "kubelet")
        return ["nice", *found["argv"], "--housekeeping-interval=60s"]

    def _wait_api(self) -> None:
        end_s = time.monotonic() + _READY_WITHIN_S
        while time.monotonic() < end_s:
            try:
                with Cluster(self.admin) as api:
                    if api.get("/api/v1/namespaces/default", within_s=2.0) is not None:
                        return
            except ToolkitError:
                pass
            time.sleep(0.5)
        raise AssertionError("the API server does not answer")

    def _wait_ready(self, boot_id: str) -> None:
        end_s = time.monotonic() + _READY_WITHIN_S
        with Cluster(self.admin) as api:
            while time.monotonic() < end_s:
                for node in (api.get("/api/v1/nodes") or {}).get("items", []):
                    told = node["status"].get("nodeInfo", {}).get("bootID")
                    if told == boot_id and cluster.is_ready(node):
                        return
                time.sleep(1)
        said = said_by(self.folder, DEVICE, f"cat /run/join.out; tail -5 {_KUBELET_HOME}/*.log")
        raise AssertionError(f"the node is not ready: {said}")

    def _be_a_user(self) -> None:
        """Write the user's kubeconfig, the testbed file and the profile."""
        with Cluster(self.admin) as api:
            end_s = time.monotonic() + 60
            while api.get("/api/v1/namespaces/default/serviceaccounts/default") is None:
                assert time.monotonic() < end_s
                time.sleep(1)
            users_rights.grant(api, users_rights.block(users_rights.ROLE))
            file = self.folder / "user.kubeconfig"
            kubeconfig = users_rights.kubeconfig(api, self.admin.kubeconfig, file)
        file = self.folder / "testbed.yaml"
        data = yaml.safe_load(file.read_text())
        data["pods"] = {
            "runtime": "kubernetes",
            "cpus": "1",
            "memory": "64MiB",
            "options": {"kubeconfig": str(kubeconfig), "context": "lab", "image": IMAGE},
        }
        file.write_text(yaml.safe_dump(data, sort_keys=False))
        (self.folder / "lab.yaml").write_text(_PROFILE)

    def namespaces(self) -> list[str]:
        """Names of the cluster's namespaces."""
        with Cluster(self.admin) as api:
            return sorted(one["metadata"]["name"] for one in api.get("/api/v1/namespaces")["items"])

    def node_state(self) -> str:
        """What of the node's own network and files a run could have left otherwise than it was."""
        return said_by(self.folder, DEVICE, _LOOKS)

    def look_at(self, namespaces: list[str], state: str) -> None:
        """Note what of cluster and node is otherwise than it was."""
        left = [name for name in self.namespaces() if name not in namespaces]
        now = self.node_state()
        self._course.note("node looked at", namespaces=left, as_before=now == state, state=now.splitlines())


def happen(course: Course, lab: ClusterLab) -> int:
    """Let both accidents happen; return the status of `bmwg verify`."""
    namespaces, state = lab.namespaces(), lab.node_state()
    words = ["run", "--testbed", "FOLDER/testbed.yaml", "--profile", "FOLDER/lab.yaml"]
    words += ["--results", "FOLDER/results", *(word for test in TESTS for word in ("--test", test))]
    command = course.begin(*words)
    assert course.until(command, '"cell":"pvp/', since=0), "the run ended before a trial of a pod"
    command.kill()
    status = command.wait()
    left = [name for name in lab.namespaces() if name not in namespaces]
    course.note("runner killed", status=status, trials=len(course.trials()), left=left)
    course.did("cleanup", "cleanup", "--all")
    lab.look_at(namespaces, state)
    run = course.run_folder()

    command = course.amid(run, f"pvp/pod/kernel-l3/{NETWORKS[1]}/")
    os.kill(lab.machine.pid, signal.SIGKILL)
    course.ended("node without power", command)
    lab.boot()
    state = lab.node_state()
    course.did("cleanup", "cleanup", run)
    course.resumed(run)
    lab.look_at(namespaces, state)
    return course.did("verified", "verify", run)


def main(folder: Path) -> int:
    """Rehearse; return whether the run did not verify."""
    with (
        Course(folder, ends_within_s=ENDS_WITHIN_S) as course,
        ClusterLab(folder, course) as lab,
        course.commands(),
    ):
        return happen(course, lab)


if __name__ == "__main__":
    in_own_namespaces()
    raise SystemExit(main(Path(sys.argv[1]).resolve()))
