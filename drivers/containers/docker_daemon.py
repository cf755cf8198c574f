"""A Docker daemon, or podman's service, of the run's own on a node: own socket and folders; node functions.

Podman answers Docker's API at its REST socket, so one client speaks to both. The daemon runs in a PID and
mount namespace of its own inside the node's network namespace: when its first process ends, the kernel ends
containerd, the shims and every container with it, and the firewall rules lie in the node's namespace. The
user's own daemon, images and networks are never spoken to.

Ids: DOCK-01 Docker or podman absent, DOCK-02 the daemon did not start or refused, DOCK-03 its API is too old,
DOCK-04 image missing, DOCK-05 not removed, DOCK-06 a port is taken.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import cgroups, process, programs
from bmwg.methodology.errors import DriverError, TestbedError

DOCKER, PODMAN = "docker", "podman"
PACKAGES = ("docker.io", "iptables")
_OF_PODMAN = ("podman", "runc")  # as Docker: its own choice, crun, refuses cgroups of both versions at once
_NEEDED = {
    DOCKER: (("dockerd", "containerd", "runc", "iptables", "unshare"), PACKAGES),
    PODMAN: (("podman", "conmon", "runc", "unshare"), _OF_PODMAN),
}
MIN_API = (1, 41)  # choice: what Debian 12 has; older ones were never tried
_UNSHARE = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child=SIGKILL"]
_EXEC = "bmwg.drivers.containers.docker_exec"
_SDK_TIMEOUT_S = 30
_LABEL = "org.ietf.bmwg.run"


def probe(*, engine: str = DOCKER) -> dict[str, str] | None:
    """Node function: what is missing for a daemon here (fields of `drivers.api.Missing`), or None."""
    programs_needed, packages = _NEEDED[engine]
    for name in programs_needed:
        if shutil.which(name) is None:
            mend = f"apt-get install --no-install-recommends {' '.join(packages)}"
            return {"what": engine.capitalize(), "reason": f"no `{name}` in PATH", "mend": mend}
    try:
        import docker  # noqa: F401 - an optional extra
    except ImportError as error:
        return {"what": "Docker SDK", "reason": str(error), "mend": "pip install 'bmwg-toolkit[docker]'"}
    return cgroups.lacking()


def cgroup_of(token: str) -> str:
    """Name the parent of the cgroups of a daemon's containers."""
    return f"/bmwg-docker-{token}"


def socket_of(token: str) -> str:
    """Name the socket at which a daemon answers."""
    return f"/run/bmwg-docker-{token}/docker.sock"


def start(
    *, token: str, data_root: str, within_s: float = 30.0, engine: str = DOCKER, nat: bool = True
) -> dict[str, JsonValue]:
    """Node function: start the daemon and wait until its API answers; returns process and versions.

    Without `nat` Docker makes no rule of a firewall: its containers' networks are others' work. Raises
    TestbedError DOCK-01, DOCK-03, DriverError DOCK-02. On failure nothing of it runs.
    """
    lack = probe(engine=engine)
    if lack:
        raise TestbedError("DOCK-01", f"no {lack['what']}", found=lack["reason"], hint=lack["mend"])
    folder = Path(socket_of(token)).parent
    folder.mkdir(parents=True)
    Path(data_root).mkdir(parents=True, mode=0o711)
    command = [*_UNSHARE, "--propagation", "private", sys.executable, "-m", _EXEC, engine, str(folder)]
    command += (
        _podman(token, data_root, folder) if engine == PODMAN else _dockerd(token, data_root, folder, nat=nat)
    )
    started = programs.start(command=command, folder=str(folder), packages=list(_NEEDED[engine][1]))
    try:
        return {"process": started, "version": _wait_for_api(token, started, folder, within_s)}
    except BaseException:
        stop(token=token, data_root=data_root, **started)
        raise


def _dockerd(token: str, data_root: str, folder: Path, *, nat: bool) -> list[str]:
    command = ["dockerd", "--host", f"unix://{socket_of(token)}"]
    command += ["--data-root", data_root, "--exec-root", f"{folder}/exec", "--pidfile", f"{folder}/pid"]
    command += ["--cgroup-parent", cgroup_of(token), "--bridge", "none", "--log-level", "warn"]
    command += ["--config-file", str(_empty_config(folder))]
    return command if nat else [*command, "--iptables=false", "--ip-forward=false", "--ip-masq=false"]


def _podman(token: str, data_root: str, folder: Path) -> list[str]:
    """Return podman's service. Its state lies beside its socket: podman takes no longer path for it."""
    own = ["--root", f"{data_root}/storage", "--runroot", f"{folder}/state", "--storage-driver", "vfs"]
    own += ["--runtime", "runc", "--cgroup-manager", "cgroupfs", "--events-backend", "none"]
    own += ["--log-level", "warn", "--tmpdir", f"{folder}/tmp"]
    return ["podman", *own, "system", "service", "--time", "0", f"unix://{socket_of(token)}"]


def _empty_config(folder: Path) -> Path:
    """Return a configuration of our own, so that the host's /etc/docker/daemon.json says nothing here."""
    file = folder / "daemon.json"
    file.write_text("{}\n")
    return file


def _wait_for_api(token: str, started: dict[str, int], folder: Path, within_s: float) -> dict[str, JsonValue]:
    end_s = time.monotonic() + within_s
    last = "no answer"
    while time.monotonic() < end_s:
        ended = programs.fault(folder=str(folder), **started)
        if ended:
            raise DriverError("DOCK-02", "the daemon", expected="a running daemon", found=ended)
        try:
            with client(token) as docker:
                version = docker.version()
        except Exception as error:  # the SDK raises requests' errors, OSError and its own
            last = str(error)
            time.sleep(0.05)
            continue
        api = tuple(int(part) for part in version["ApiVersion"].split("."))
        if api < MIN_API:
            raise TestbedError(
                "DOCK-03",
                "the daemon's API",
                expected=f"{MIN_API[0]}.{MIN_API[1]} or newer",
                found=version["ApiVersion"],
                hint="install a newer Docker",
            )
        return {"docker": version["Version"], "api": version["ApiVersion"], **_components(version)}
    raise DriverError("DOCK-02", "the daemon", expected=f"its API within {within_s:g} s", found=last)


def _components(version: dict[str, Any]) -> dict[str, str]:
    parts = version.get("Components") or []
    # podman's say several lines
    shown = ("containerd", "runc", "Podman Engine", "Conmon", "OCI Runtime (runc)")
    return {part["Name"]: part["Version"].partition("\n")[0] for part in parts if part["Name"] in shown}


@contextlib.contextmanager
def client(token: str) -> Any:
    """Open the SDK's client of this daemon (never of another: no environment is read)."""
    from docker import DockerClient

    opened = DockerClient(base_url=f"unix://{socket_of(token)}", timeout=_SDK_TIMEOUT_S)
    try:
        yield opened
    finally:
        opened.close()


def stop(*, token: str, data_root: str, pid: int, start_ticks: int, within_s: float = 10.0) -> None:
    """Node function: end the daemon with all that it runs, and remove its files and cgroups. Idempotent."""
    members: list[int] = []
    if process.same(pid, start_ticks):
        members = programs.session(pid)
        process.kill(*members)
    programs.stop(pid=pid, start_ticks=start_ticks, folder=str(Path(socket_of(token)).parent))
    for member in set(members) - {pid}:
        process.reap(member, deadline_s=1.0)  # its parent has ended before it: it is the agent's now
    remove(token=token, data_root=data_root, within_s=within_s)


def remove(*, token: str, data_root: str, within_s: float = 10.0) -> bool:
    """Node function: remove what a daemon that no longer runs has left: containers, cgroups, files.

    Idempotent. Raises DriverError DOCK-05 when something stays.
    """
    end_s = time.monotonic() + within_s
    there = Path(data_root).exists()
    parent = cgroup_of(token)
    for pid in cgroups.members(parent):
        process.terminate(pid=pid, start_ticks=process.start_ticks(pid), within_s=1.0)
    left = cgroups.remove(parent, deadline_s=max(0.5, end_s - time.monotonic()))
    left += programs.remove_tree(data_root, end_s)
    if left:
        raise DriverError("DOCK-05", "Docker's files and cgroups", expected="removed", found=", ".join(left))
    return there


def add_network(*, token: str, name: str, subnet: str, gateway: str, masquerade: bool) -> None:
    """Node function: make a bridge network. Without masquerade its containers are reached by routes."""
    from docker.types import IPAMConfig, IPAMPool

    options = {
        "com.docker.network.bridge.name": name,
        "com.docker.network.bridge.enable_ip_masquerade": "true" if masquerade else "false",
    }
    with client(token) as docker, refusals(f"network {name}"):
        if not masquerade and _major(docker) >= 27:  # from there on only a network that says so is routed to
            options["com.docker.network.bridge.gateway_mode_ipv4"] = "routed"
        pool = IPAMPool(subnet=subnet, gateway=gateway)
        docker.networks.create(
            name,
            driver="bridge",
            options=options,
            ipam=IPAMConfig(pool_configs=[pool]),
            labels={_LABEL: token},
        )


def _major(docker: Any) -> int:
    text = str(docker.version()["Version"]).partition(".")[0]
    return int(text) if text.isdigit() else 0


@contextlib.contextmanager
def refusals(what: str) -> Any:
    """Turn what the daemon refuses into an error of ours."""
    from docker.errors import DockerException, ImageNotFound
    from requests.exceptions import RequestException

    try:
        yield
    except ImageNotFound as error:
        raise TestbedError("DOCK-04", what, expected="its image", found=str(error.explanation)) from error
    except (DockerException, RequestException) as error:
        words = str(getattr(error, "explanation", None) or error)
        taken = "already allocated" in words or "address already in use" in words
        raise DriverError("DOCK-06" if taken else "DOCK-02", what, found=words) from error
