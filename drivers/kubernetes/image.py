"""Images of pods, as OCI archives built from this machine's packages: no registry takes part.

That of functions holds a shell, the few programs that functions run, what these are linked with, and nothing
else; one of a program holds that and what it needs. Files are sorted and without times, so the same packages
give the same digest.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import platform
import shutil
import subprocess
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.containers.bundle import SLEEPER
from bmwg.drivers.kubernetes.settings import PAUSE_IMAGE
from bmwg.drivers.nodes import bounded, file_sizes, program_files
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Counted

_NEEDED = ("sh", "sleep", "cat")
_OFFERED = (
    "dpdk-testpmd",
    "stdbuf",
    "perl",
)  # of functions; without one, that function is missing in the image
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def build(archive: Path) -> dict[str, JsonValue]:
    """Write the archive of the pods' image; return its image's name, digest, size (octets) and programs.

    Raises TestbedError KUBE-04.
    """
    made = write(archive, PAUSE_IMAGE, program_files.layer(_files()), SLEEPER)
    return {**made, "programs": [name for name in (*_NEEDED, *_OFFERED) if shutil.which(name)]}


def build_program(*, archive: str, image: str, program: str, packages: list[str]) -> dict[str, JsonValue]:
    """Node function: write the archive of an image with one program and what it needs; as `build`.

    Raises TestbedError PROG-01.
    """
    path = program_files.require(program, packages)
    layer = program_files.layer(program_files.closure(program, path))
    made = write(Path(archive), image, layer, (path,))
    return {**made, "programs": [program], "packages": program_files.versions(packages)}


def write(
    archive: Path, image: str, layer: bytes, command: Sequence[str], user: str = "65534:65534"
) -> dict[str, JsonValue]:
    """Write the archive of an image of one layer; return its name, digest and size (octets of the layer)."""
    diff_id = f"sha256:{hashlib.sha256(layer).hexdigest()}"
    packed = gzip.compress(layer, compresslevel=1, mtime=0)
    config = {
        "architecture": _MACHINES.get(platform.machine(), platform.machine()),
        "os": "linux",
        "config": {
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "Cmd": list(command),
            "User": user,
            "WorkingDir": "/",
        },
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
        "history": [{"created_by": "bmwg, from this machine's packages"}],
    }
    blobs: dict[str, bytes] = {}
    config_blob = _blob(blobs, json.dumps(config, sort_keys=True).encode())
    layer_blob = _blob(blobs, packed)
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **config_blob},
        "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", **layer_blob}],
    }
    manifest_blob = _blob(blobs, json.dumps(manifest, sort_keys=True).encode())
    index = {
        "schemaVersion": 2,
        "manifests": [
            {
                "mediaType": manifest["mediaType"],
                **manifest_blob,
                "annotations": {"io.containerd.image.name": image},
            }
        ],
    }
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w") as tar:
        program_files.add(tar, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
        program_files.add(tar, "index.json", json.dumps(index, sort_keys=True).encode())
        for digest, data in sorted(blobs.items()):
            program_files.add(tar, f"blobs/sha256/{digest}", data)
    octets = {Counted.PACKED: len(packed), **file_sizes.of_layer(layer)}
    return {
        "name": image,
        "digest": str(manifest_blob["digest"]),
        "octets": len(layer),
        booted.KEY: booted.Booted(parts={booted.LAYERS: octets}).as_builtins(),
    }


def _files() -> list[str]:
    """Paths that the image holds: programs, what they are linked with, and DPDK's drivers with theirs."""
    lacking = [name for name in _NEEDED if shutil.which(name) is None]
    if lacking:
        raise TestbedError("KUBE-04", "the image of pods", expected="programs", found=f"no {lacking[0]}")
    programs = {path for name in (*_NEEDED, *_OFFERED) if (path := shutil.which(name))}
    extra: set[str] = set()
    if shutil.which("stdbuf"):
        extra |= {str(path) for path in Path("/usr/libexec/coreutils").glob("libstdbuf.so")}
    if shutil.which("dpdk-testpmd"):
        for pattern in ("librte_net_af_packet*", "librte_mempool_ring*", "librte_bus_vdev*"):
            extra |= {str(path) for path in Path("/usr/lib").glob(f"*/dpdk/pmds-*/{pattern}")}
    return sorted(programs | extra | _linked(programs | extra))


def _linked(binaries: Iterable[str]) -> set[str]:
    """Return the libraries that the loader would map for these."""
    found: set[str] = set()
    for binary in binaries:
        try:
            said = bounded.run(["ldd", binary], deadline_s=20.0).stdout
        except (OSError, subprocess.SubprocessError) as error:
            raise TestbedError("KUBE-04", f"libraries of {binary}", found=str(error)) from error
        for line in said.splitlines():
            words = line.replace("=>", " ").split()
            found |= {word for word in words if word.startswith("/")}
    return found


def _blob(blobs: dict[str, bytes], data: bytes) -> dict[str, JsonValue]:
    digest = hashlib.sha256(data).hexdigest()
    blobs[digest] = data
    return {"digest": f"sha256:{digest}", "size": len(data)}
