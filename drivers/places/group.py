"""Two hosting forms on a cluster that the run makes on the instances' node: a pod, pods behind a Service.

The node is the cluster's only one. Its pods and Services have addresses of the instances' network, to which
clients and servers have routes: they stand outside of the cluster, and the node forwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bmwg.drivers.api.instance import (
    FORM_NETWORKS,
    INSTANCE_NETWORK,
    Grouping,
    Hosting,
    Instance,
    Limits,
    Place,
    Program,
    Sample,
)
from bmwg.drivers.api.protocols import JsonValue, Missing, PlacedNode
from bmwg.drivers.kubernetes import image, pods, programs, record, run_namespace
from bmwg.drivers.kubernetes import node as kubernetes_node
from bmwg.drivers.kubernetes.access import MEND
from bmwg.drivers.kubernetes.batch import LABEL
from bmwg.drivers.kubernetes.client import Cluster
from bmwg.drivers.kubernetes.cluster import Embedded, embedded
from bmwg.drivers.kubernetes.replicas import Replicas, Where, replicas
from bmwg.drivers.kubernetes.settings import Ranges
from bmwg.drivers.nodes import cgroups
from bmwg.drivers.places.instances import PlacedInstance
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.errors import DriverError
from bmwg.methodology.trial.cpu_lists import cpu_list

_BEYOND = ("198.18.1.0/24", "198.18.2.0/24")  # the clients' network and the servers'
_RUNNING_S = 120.0  # choice: a pod runs within 2 s here; the wait of a busy machine


class PodOfCluster(PlacedInstance):
    """One pod with one program, reached at its own address. `undo` is of one that stands by itself."""

    def __init__(
        self, where: Where, name: str, endpoint: tuple[str, int], made: Replicas, undo: ExitStack
    ) -> None:
        super().__init__(name, endpoint, {}, sampled=self._used, told=self._found, undo=undo)
        self._where = where
        self._made = made

    @property
    def container(self) -> str:
        """The id of its container."""
        return pods.container_id(self._made.found[self.name])

    def _used(self) -> Sample:
        """Return what the container's processes use; the sandbox, which sleeps, is none of them."""
        return _sample(self._where, [self.container])

    def fault(self) -> str | None:
        """Say why the pod no longer runs, as the cluster has it."""
        found = self._where.api.get(pods.pods_path(self._where.namespace, self.name))
        return "the pod is gone" if found is None else self.judged(found)

    def judged(self, found: Mapping[str, Any]) -> str | None:
        """Say what is wrong with it as the cluster has it now; None while it runs as it did."""
        began = self._made.found[self.name]
        if found["metadata"]["uid"] != began["metadata"]["uid"]:
            return "another pod has its name"
        return pods.fault(self._where.api, found, restarted=pods.restarts(began))

    def _found(self) -> Mapping[str, JsonValue]:
        """Return what it asked for, its limits in the kernel, the times of its start."""
        found = self._made.found[self.name]
        body = self._made.batch.bodies[self.name]
        told = record.pod(found, body)
        cgroup = self._where.layout.cgroup
        process = self._where.node.call(
            kubernetes_node.container_pid,
            cgroup=cgroup,
            pod_uid=found["metadata"]["uid"],
            container=self.container,
        )
        if process is None:
            raise DriverError("KUBE-40", f"pod {self.name}", expected="a process", found="none")
        limits = self._where.node.call(
            cgroups.read_limits, cgroup=record.within_hierarchy(str(process["cgroup"]))
        )
        return {
            "limits": limits,
            "pod": told,
            "start_phases_ms": self._made.batch.phases[self.name].took_ms(),
        }


class PodGroup:
    """Pods behind one Service."""

    def __init__(self, where: Where, group: str, port: int, made: Replicas) -> None:
        self._pods = tuple(
            PodOfCluster(where, name, (made.addresses[name], port), made, ExitStack())
            for name in made.batch.phases
        )
        self.instances: Sequence[Instance] = self._pods
        self.endpoint = (str(made.service["cluster_ip"]), port)
        self._where = where
        self._group = group
        self._made = made

    def sample(self) -> Sample:
        """What all containers use together."""
        return _sample(self._where, [pod.container for pod in self._pods])

    def fault(self) -> str | None:
        """Say which pod no longer runs, and why, as the cluster has it."""
        listed = self._where.api.get(
            pods.pods_path(self._where.namespace), labelSelector=f"{LABEL}={self._group}"
        )
        there = {item["metadata"]["name"]: item for item in (listed or {}).get("items", [])}
        for pod in self._pods:
            found = there.get(pod.name)
            if told := "the pod is gone" if found is None else pod.judged(found):
                return f"{pod.name}: {told}"
        return None

    def describe(self) -> Mapping[str, JsonValue]:
        """The Service, and how many pods are behind it."""
        return dict(self._made.service)


def _sample(where: Where, containers: list[str]) -> Sample:
    cgroup = where.layout.cgroup
    return Sample(**where.node.call(kubernetes_node.sample_containers, cgroup=cgroup, containers=containers))


class KubernetesHosting:
    """A cluster on the node while it is entered; each instance is a pod of it."""

    def __init__(self, *, form: str, node: PlacedNode, place: Place, ledger: Ledger) -> None:
        self.form = form
        self._node = node
        self._place = place
        self._ledger = ledger
        self._stack = ExitStack()
        self._made: Embedded | None = None
        self._api: Cluster | None = None
        self._images: dict[str, Mapping[str, JsonValue]] = {}
        self._told: Mapping[str, JsonValue] = {}

    def probe(self) -> Missing | None:
        """Tell what is missing: the client's library, the cluster's programs, or more than one CPU."""
        try:
            import kubernetes  # noqa: F401 - an optional extra
        except ImportError as error:
            return Missing(what="Kubernetes client", reason=str(error), mend=MEND)
        lack = self._node.call(programs.missing)
        if lack:
            return Missing(**lack)
        if len(self._cpus) < 2:
            return Missing(
                what="a CPU for pods of Kubernetes",
                reason="the kubelet keeps one for the node's own programs, and this machine has no other",
                mend="a machine with two CPUs",
            )
        return None

    @property
    def _cpus(self) -> tuple[int, ...]:
        return cpu_list(str(self._node.call(cgroups.default_cpus)))

    def __enter__(self) -> KubernetesHosting:
        """Make the cluster and the run's namespace in it."""
        first, *others = self._cpus
        every = ",".join(map(str, (first, *others)))
        with ExitStack() as stack:
            self._made = stack.enter_context(
                embedded(
                    {self._node.name: self._node},
                    run_dir=Path(self._place.run_dir),
                    folder="cluster-http",  # beside that of pods, in one run
                    undo=self._ledger,
                    token=self._place.token,
                    function_cpus=",".join(map(str, others)),
                    other_cpus=str(first),
                    program_cpus=every,  # as other forms' daemons
                    ranges=Ranges(
                        pods=FORM_NETWORKS["kubernetes_pods"],
                        services=FORM_NETWORKS["kubernetes_services"],
                        reaches=_BEYOND,
                    ),
                )
            )
            self._api = stack.enter_context(Cluster(self._made.access))
            run_namespace.make(self._api, self._namespace, self._place.token)
            told = record.cluster(self._api, self._made, {})
            self._told = {key: value for key, value in told.items() if key != "took_s"}  # differ each time
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exc: object) -> None:
        """Remove the cluster with all in it."""
        stack, self._stack = self._stack, ExitStack()
        self._images = {}
        stack.close()

    @property
    def _namespace(self) -> str:
        return f"bmwg-{self._place.token}"

    def _where(self, program: Program) -> Where:
        assert self._made is not None and self._api is not None  # noqa: PT018 - entered
        return Where(
            api=self._api,
            node=self._node,
            layout=self._made.layouts[self._node.name],
            namespace=self._namespace,
            owner=self._place.token,
            image=_image(program),
        )

    def prepare(self, program: Program) -> None:
        """Make the program's image of the node's packages, and give it to the node, unless it has it."""
        if program.name in self._images:
            return
        where = self._where(program)
        archive = f"{where.layout.shared}/{program.name}.tar"
        made = self._node.call_within(
            120.0,
            image.build_program,
            archive=archive,
            image=where.image,
            program=program.command[0],
            packages=list(program.packages),
        )
        self._node.call_within(
            90.0, kubernetes_node.import_image, folder=where.layout.folder, archive=archive
        )
        self._images[program.name] = made

    def start(self, program: Program, number: int, limits: Limits) -> PodOfCluster:
        """Make a pod; returns when its program runs. Raises what `replicas` raises."""
        self.prepare(program)
        where, name = self._where(program), f"{program.name}-{number}-{self._place.token}"
        standing = replicas(
            where,
            program,
            self._given(limits),
            [name],
            group=name,
            behind_service=False,
            within_s=_RUNNING_S,
        )
        with ExitStack() as stack:
            made = stack.enter_context(standing)
            return PodOfCluster(where, name, (made.addresses[name], program.port), made, stack.pop_all())

    def _given(self, limits: Limits) -> Limits:
        """Return the limits as every form has them: of CPUs no more than there are."""
        return Limits(cpus=min(limits.cpus, len(self._cpus)), memory_octets=limits.memory_octets)

    def describe(self) -> Mapping[str, JsonValue]:
        """The cluster with its versions and configuration, the images, and how pods are reached."""
        return {
            "form": self.form,
            "cluster": self._told,
            "images": {name: dict(told) for name, told in self._images.items()},
            "pods": FORM_NETWORKS["kubernetes_pods"],
            "services": FORM_NETWORKS["kubernetes_services"],
            "network": "the cluster's own: the CNI bridge on its one node",
            "reached_by": "clients and server stand outside of the cluster; its node forwards",
            "instances_network": INSTANCE_NETWORK,
        }


class ServiceHosting(KubernetesHosting):
    """The same, with the instances behind one ClusterIP Service."""

    @contextmanager
    def group(self, program: Program, count: int, limits: Limits, *, within_s: float) -> Iterator[PodGroup]:
        """Yield so many pods, all ready, behind a Service that leads to each; remove them on leaving."""
        self.prepare(program)
        where, group = self._where(program), f"{program.name}-{self._place.token}"
        names = [f"{program.name}-{number}-{self._place.token}" for number in range(count)]
        with replicas(
            where,
            program,
            self._given(limits),
            names,
            group=group,
            behind_service=True,
            within_s=within_s,
        ) as made:
            yield PodGroup(where, group, program.port, made)


def _image(program: Program) -> str:
    return f"bmwg.invalid/{program.name}:run"  # cannot be resolved: it is imported, never fetched


_: type[Hosting] = KubernetesHosting
_grouping: type[Grouping] = ServiceHosting
