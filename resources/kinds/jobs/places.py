"""The forms in which jobs run on a host, all with the same CPUs and limits.

Native, a pod of the testbed's runtime, the same pod by Docker, podman and LXC, and a guest, inside which the
program has a cgroup with a pod's limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from bmwg.drivers.api.protocols import Evidence, JsonValue, Missing, PodParts
from bmwg.drivers.machines import guest_disk, qemu_place
from bmwg.drivers.nodes import job_files, programs
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.pods import created_pod, described
from bmwg.drivers.places import guest_hosts
from bmwg.drivers.places.native import guest_place, native_place
from bmwg.drivers.workload.of_jobs import JobPlace
from bmwg.methodology.cells.vnics import VIRTIO
from bmwg.methodology.kinds.jobs.profile import PATH
from bmwg.methodology.kinds.jobs.records import JobsSpec
from bmwg.methodology.records import BAREMETAL, ENGINES, GUEST, NOTHING, POD

_IN_POD = "/run/bmwg-job"
_IN_MEMORY = ("tmpfs", "ramfs")  # what a program writes there is no figure of a disk
_LARGER_DISK = "--results in a folder of a larger disk; on a host /var/lib/bmwg on one"
_ON_OWN_DISK = (
    f"a disk of the guest's own with {guest_disk.FILE_SYSTEM}, a file on the file system of the other forms, "
    "written past the host's page cache"
)
_ROOM_RATIO = 2  # choice: a file that is written anew while the old one goes
_ROOM_OCTETS = 64 << 20  # choice: what the run itself writes meanwhile
_FUNCTION: dict[str, JsonValue] = {
    "name": "none",
    "runs_in": "the job is a program; nothing forwards",
    "endpoint": "endpoint: the program uses no interface",
}


def lacking(
    hosting: str, bed: Bed, spec: JobsSpec, *, translated: bool, architecture: str = ""
) -> Missing | None:
    """Return why no such job runs in a form here; `translated` says that a guest without KVM will do.

    A guest is of this `architecture` (Debian's word), empty: of its host's.
    """
    if hosting == BAREMETAL:
        return None
    if hosting == POD:
        return bed.runtime.probe(_node(bed))
    if hosting in ENGINES:
        return bed.engine(hosting).probe(_node(bed))
    if hosting == GUEST:
        node = _node(bed)
        why = node.call(qemu_place.translated, architecture=architecture)
        return _no_job_of_guest(why, spec, translated=translated) or guest_hosts.lacking(
            bed, node, VIRTIO, architecture=architecture
        )
    return Missing(
        what=f"hosting form {hosting} for jobs",
        reason=f"no driver makes it here: {', '.join((BAREMETAL, POD, *ENGINES, GUEST))} are the forms",
        mend="docs/hosts.md, what is not here",
    )


def _no_job_of_guest(why: str, spec: JobsSpec, *, translated: bool) -> Missing | None:
    """Return why a guest is no place for a job: one that is translated, for the reason `why`, takes its time.

    `translated` says that the profile measures it all the same.
    """
    if why and not translated:
        return Missing(
            what=f"hosting form {GUEST} without KVM",
            reason=f"a guest's instructions would be translated here ({why})",
            mend="BMWG_PROFILE=guests for figures that show function, or a machine with /dev/kvm",
        )
    if why and not spec.duration_s and not spec.size_octets:
        return Missing(
            what=f"hosting form {GUEST} for a job of a fixed size",
            reason=f"its instructions are translated here ({why}), which takes it no bounded time",
            mend="a machine with /dev/kvm; jobs of a duration or on a file are measured here too",
        )
    return None


@contextmanager
def form(bed: Bed, hosting: str, *, disk_octets: int = 0, architecture: str = "") -> Iterator[JobPlace]:
    """Make a form with a folder on the node's disk for its files; remove both on leaving.

    A guest has that folder on a disk of its own, of `disk_octets`, which is a file there; without, in its
    memory. It is of this `architecture`, empty: of its host's.
    Raises DriverError HOST-01, and what a runtime raises.
    """
    node = _node(bed)
    folder = str(bed.state_dir / f"jobs-{hosting}")
    entry = bed.undo.before("folder", node.machine.place, folder=folder)
    told: Evidence = {
        "path": PATH,
        "scenario": "a program measures the host on which it runs",
        "hosting": hosting,
        "function": _FUNCTION,
        "network": NOTHING,
        "chain": "none: a job is a program by itself",
        "flow_definition": "none: nothing is sent",
        "hops": [],
        "forwarding": "nothing forwards",
        "node": node.name,
        "files": "a folder on the node's disk, the same file system for all forms",
    }
    try:
        node.call(programs.write_files, folder=folder, files={})
        with _made(bed, node, hosting, folder, disk_octets, architecture) as made:
            yield replace(made, evidence={**told, **made.evidence})
    finally:
        node.call(programs.remove_folder, folder=folder)
        bed.undo.done(entry)


@contextmanager
def _made(
    bed: Bed, node: BedNode, hosting: str, folder: str, disk_octets: int, architecture: str
) -> Iterator[JobPlace]:
    """Make the place of a form."""
    own: Evidence
    disk = f"{folder}/disk" if disk_octets else ""
    if hosting == BAREMETAL:
        with native_place(bed, node, number=0, cpus=bed.testbed.pods.cpus) as place:
            own = {"native_programs": {"job": place.limits}}
            yield JobPlace(place=place, folder=folder, on_node=folder, evidence=own)
    elif hosting == GUEST:
        if disk:
            node.call(guest_disk.make, path=disk, octets=disk_octets)
        with guest_hosts.guest_host(
            bed, node, number=0, vnic=VIRTIO, pods=0, own_disk=disk, architecture=architecture
        ) as guest:
            place = guest_place(bed, guest, name="bmwg-job")
            if disk:
                guest.call(guest_disk.mount, folder=_IN_POD)
            else:
                guest.call(programs.write_files, folder=_IN_POD, files={})
            own = {
                "files": _ON_OWN_DISK if disk else "the guest's memory",
                "native_programs": {"job": place.limits},
                "machines": {guest.name: guest_hosts.described(bed, guest, VIRTIO)},
            }
            yield JobPlace(
                place=place,
                folder=_IN_POD,
                on_node=_IN_POD,
                evidence=own,
                own_programs=bool(architecture),
            )
    else:
        parts = PodParts(binds=((folder, _IN_POD, True),))
        runtime = bed.engine(hosting) if hosting in ENGINES else bed.runtime
        name = f"bmwg-{bed.next_id()}-0"
        with created_pod(bed, node, name=name, networks=[], parts=parts, runtime=runtime) as pod:
            pod.start()
            own = {"pod": described(bed, pod, works=False), "pod_runtime": dict(runtime.describe())}
            yield JobPlace(place=pod, folder=_IN_POD, on_node=folder, evidence=own)


def wanted_octets(spec: JobsSpec) -> int:
    """Return the room on a disk that a job takes at most; 0 for one that writes no file."""
    return spec.size_octets * _ROOM_RATIO + _ROOM_OCTETS if spec.size_octets else 0


def no_space(bed: Bed, wanted_octets: int) -> Missing | None:
    """Return that there is no disk, or not the room on it, for a job's file."""
    if not wanted_octets:
        return None
    free = _node(bed).call(job_files.free_octets, folder=str(bed.state_dir))
    kind = _node(bed).call(job_files.file_system, folder=str(bed.state_dir))
    if kind in _IN_MEMORY:
        return Missing(
            what="a disk for a job's file",
            reason=f"{bed.state_dir} is in memory ({kind})",
            mend=_LARGER_DISK,
        )
    if free >= wanted_octets:
        return None
    return Missing(
        what=f"{wanted_octets} octets of free disk",
        reason=f"the file system of {bed.state_dir} has {free}",
        mend=_LARGER_DISK,
    )


def _node(bed: Bed) -> BedNode:
    return bed.node(bed.testbed.nodes[0].name)


def cleared(form: JobPlace) -> None:
    """Remove the files of a form's folder."""
    form.place.node.call(job_files.empty, folder=form.on_node)
