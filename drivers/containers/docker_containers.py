"""Images and containers of the run's own Docker daemon: node functions."""

from __future__ import annotations

import os

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.containers.docker_daemon import cgroup_of, client, refusals
from bmwg.drivers.nodes import file_sizes, program_files, programs
from bmwg.methodology.record import booted


def make_image(*, token: str, name: str, program: str, packages: list[str]) -> dict[str, JsonValue]:
    """Node function: make an image of a program and what it needs, from the node's own packages.

    Raises TestbedError PROG-01 when the program is not there. Returns evidence: packages, files, octets.
    """
    files = program_files.closure(program, program_files.require(program, packages))
    data = program_files.layer(files)
    with client(token) as docker, refusals(f"image {name}"):
        docker.api.import_image_from_data(data, repository=name, tag="run")
        image = docker.images.get(f"{name}:run")
    return {
        "image": image.id,
        "made_of": "the node's own packages",
        "packages": program_files.versions(packages),
        "files": len(files),
        "octets": len(data),
        booted.KEY: booted.Booted(parts={booted.LAYERS: file_sizes.of_layer(data)}).as_builtins(),
    }


def run(
    *,
    token: str,
    name: str,
    image: str,
    command: list[str],
    network: str,
    address: str,
    folder: str,
    files: dict[str, str],
    published: list[JsonValue],
    port: int,
    cpus: float,
    memory_octets: int,
) -> dict[str, JsonValue]:
    """Node function: write the files, make a container and start it. `published` is (address, port) or empty.

    Raises TestbedError DOCK-04, DriverError DOCK-02, DOCK-06. A container that did not start is removed.
    """
    programs.write_files(folder=folder, files=files)
    ports = {f"{port}/tcp": (published[0], published[1])} if published else {}
    with client(token) as docker, refusals(f"container {name}"):
        config = docker.api.create_networking_config(
            {network: docker.api.create_endpoint_config(ipv4_address=address)}
        )
        host = docker.api.create_host_config(
            binds={folder: {"bind": folder, "mode": "rw"}},
            port_bindings=ports,
            nano_cpus=round(min(cpus, os.cpu_count() or 1) * 1e9),
            mem_limit=memory_octets,
            cgroup_parent=cgroup_of(token),
            network_mode=network,
        )
        made = docker.api.create_container(
            image=f"{image}:run",
            command=command,
            name=name,
            hostname=name,
            networking_config=config,
            host_config=host,
            ports=[port],
        )
        try:
            docker.api.start(made["Id"])
        except BaseException:
            docker.api.remove_container(made["Id"], force=True)
            raise
        return {"id": made["Id"]}
