"""The first process of an embedded OpenStack: its root, its services in their order, and their end.

`python -m bmwg.drivers.openstack.inside WORK < JSON` runs in PID, IPC and mount namespaces of its own inside
the cloud node's network namespace. When it ends, the kernel ends every service and guest with it. Each step
is a line of JSON in `WORK/progress`. All modules are imported before the root changes.
"""

from __future__ import annotations

import contextlib
import encodings.idna
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from bmwg.drivers.nodes import process
from bmwg.drivers.nodes.mounts import bind, file_system
from bmwg.drivers.openstack import settings

_LOADED = encodings.idna  # a codec would be looked for in the new root
_DEVICES = {"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9}  # major number 1
_SERVICES_DEADLINE_S = 540.0  # choice: above 240 s on two cores with a load average of 30
_DATABASE = "/run/mysqld/mysqld.sock"
_PYTHON = "/usr/bin/python3"
_UWSGI = ("uwsgi", "--plugin", "python3", "--processes", "1", "--threads", "4", "--need-app", "--die-on-term")
# a POST was reset now and then while uwsgi had the length of a body that nobody read
_UWSGI_MORE = ("--socket-timeout", "60", "--rem-header", "Content-Length", "--buffer-size", "65535")


class Services:
    """What runs in the cloud, by name."""

    def __init__(self, say: Callable[..., None]) -> None:
        self._say = say
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, *command: str, **environment: str) -> None:
        """Start a service with its output in a file of its name."""
        with open(f"/var/log/bmwg/{name}.log", "ab") as log:
            self.running[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**_ENVIRONMENT, **environment},
            )

    def wait(self, name: str, ready: Callable[[], bool], until_s: float) -> None:
        """Wait until a service is ready; SystemExit with its own last words when it ends or is late."""
        began = time.monotonic()
        while not ready():
            service = self.running[name]
            if service.poll() is not None:
                self.fail(name, f"ended with status {service.returncode}")
            if time.monotonic() > until_s:
                self.fail(name, "was not ready in time")
            time.sleep(0.2)
        self._say(step=name, took_s=round(time.monotonic() - began, 2))

    def fail(self, name: str, how: str) -> None:
        """Say which service failed and end."""
        with contextlib.suppress(OSError):
            lines = Path(f"/var/log/bmwg/{name}.log").read_text(errors="replace").splitlines()
            how += ": " + " | ".join([line for line in lines if line.strip()][-4:])
        self._say(failed=name, found=how[-1500:])
        raise SystemExit(1)

    def stop(self, names: Iterable[str], within_s: float = 20.0) -> None:
        """End services by SIGTERM, one after the other."""
        for name in names:
            service = self.running.pop(name, None)
            if service is not None and service.poll() is None:
                service.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    service.wait(within_s)


_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "PYTHONWARNINGS": "ignore",
}


def listens(port: int, address: str = settings.SERVICE_ADDRESS) -> bool:
    """Whether something accepts connections at a port."""
    try:
        with socket.create_connection((address, port), timeout=1.0):
            return True
    except OSError:
        return False


def enter(root: str, layers: str, logs: str, *, kvm: bool, in_memory: bool) -> None:
    """Make `root` (layers, the uppermost first) below a writable one this process' root.

    Devices and the kernel's file systems are its own.
    """
    if in_memory:
        file_system(kind="tmpfs", target=layers, data="mode=755")
    merged, upper, work = (f"{layers}/{name}" for name in ("merged", "upper", "work"))
    for folder in (merged, upper, work):
        os.makedirs(folder, exist_ok=True)
    file_system(kind="overlay", target=merged, data=f"lowerdir={root},upperdir={upper},workdir={work}")
    for kind, name, data in (
        ("proc", "proc", None),
        ("sysfs", "sys", None),
        ("tmpfs", "run", "mode=755"),
        ("tmpfs", "tmp", "mode=1777"),
        ("tmpfs", "dev", "mode=755,size=1m"),
    ):
        file_system(kind=kind, target=f"{merged}/{name}", data=data)
    os.umask(0)
    for name, number in _DEVICES.items():
        os.mknod(f"{merged}/dev/{name}", 0o020666, os.makedev(1, number))
    os.mknod(f"{merged}/dev/tty", 0o020666, os.makedev(5, 0))
    for folder in ("pts", "shm", "net"):
        os.mkdir(f"{merged}/dev/{folder}", 0o755)
    os.mknod(f"{merged}/dev/net/tun", 0o020666, os.makedev(10, 200))
    if kvm:
        os.mknod(f"{merged}/dev/kvm", 0o020666, os.stat("/dev/kvm").st_rdev)
    file_system(kind="devpts", target=f"{merged}/dev/pts", data="newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", f"{merged}/dev/ptmx")
    file_system(kind="tmpfs", target=f"{merged}/dev/shm", data="mode=1777")
    for link, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(target, f"{merged}/dev/{link}")
    os.umask(0o022)
    os.makedirs(f"{merged}/var/log/bmwg", exist_ok=True)
    bind(source=logs, target=f"{merged}/var/log/bmwg")
    os.chroot(merged)
    os.chdir("/")
    for folder in ("/run/lock", "/run/mysqld", "/run/libvirt", "/run/openvswitch", "/run/sudo"):
        os.makedirs(folder, exist_ok=True)
    os.chmod("/run/lock", 0o1777)
    subprocess.run(["chown", "mysql:", "/run/mysqld"], check=True, env=_ENVIRONMENT)


def write(texts: Mapping[str, str]) -> None:
    """Write the settings; what holds a password is for root and the service's group alone."""
    for name, text in texts.items():
        path = Path("/", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o644 if "password" not in text and "connection" not in text else 0o640)


def ground(services: Services, until_s: float) -> None:
    """Start what all services stand on: data base, message queue, cache."""
    services.start("mariadb", "mariadbd", "--user=mysql", f"--socket={_DATABASE}")
    services.start("rabbitmq", "/usr/sbin/rabbitmq-server")
    services.start("memcached", "memcached", "-u", "memcache", "-l", "127.0.0.1", "-m", "16")
    services.wait("mariadb", _pings, until_s)
    services.wait("rabbitmq", lambda: listens(5672), until_s)
    services.wait("memcached", lambda: listens(11211, "127.0.0.1"), until_s)


def _pings() -> bool:
    asked = ["mariadb-admin", f"--socket={_DATABASE}", "ping"]
    done = subprocess.run(asked, capture_output=True, env=_ENVIRONMENT, check=False, timeout=20)
    return done.returncode == 0


def web(services: Services, name: str, program: str, port: int) -> None:
    """Start an API under uwsgi."""
    where = ("--http-socket", f"{settings.SERVICE_ADDRESS}:{port}", "--wsgi-file", f"/usr/bin/{program}")
    services.start(name, *_UWSGI, *_UWSGI_MORE, *where)


def prepare(services: Services, given: Mapping[str, Any], until_s: float, say: Callable[..., None]) -> None:
    """Fill the data bases of a fresh root and register services and users; then end all cleanly."""
    ground(services, until_s)
    password = given["password"]
    grants = [f"CREATE DATABASE {name} CHARACTER SET utf8;" for name in settings.DATABASES]
    grants += [f"CREATE USER bmwg@localhost IDENTIFIED BY '{password}';"]
    grants += ["GRANT ALL ON *.* TO bmwg@localhost;"]
    _run("database", ["mariadb", f"--socket={_DATABASE}"], say, "\n".join(grants))
    bootstrap = ["keystone-manage", "bootstrap", "--bootstrap-password", password]
    bootstrap += ["--bootstrap-region-id", settings.REGION]
    for kind in ("admin", "internal", "public"):
        bootstrap += [f"--bootstrap-{kind}-url", settings.AUTH_URL]
    owner = ["--keystone-user", "root", "--keystone-group", "root"]
    for name, command in (
        ("keystone", ["keystone-manage", "db_sync"]),
        ("keystone", ["keystone-manage", "fernet_setup", *owner]),
        ("keystone", ["keystone-manage", "credential_setup", *owner]),
        ("keystone", bootstrap),
        ("glance", ["glance-manage", "db_sync"]),
        ("placement", ["placement-manage", "db", "sync"]),
        ("nova", ["nova-manage", "api_db", "sync"]),
        ("nova", ["nova-manage", "cell_v2", "map_cell0"]),
        ("nova", ["nova-manage", "cell_v2", "create_cell", "--name", "cell1"]),
        ("nova", ["nova-manage", "db", "sync"]),
        ("neutron", ["neutron-db-manage", *_NEUTRON, "upgrade", "head"]),
    ):
        _run(name, command, say)
    web(services, "keystone", "keystone-wsgi-public", 5000)
    services.wait("keystone", lambda: listens(5000), until_s)
    registration = {
        "auth_url": settings.AUTH_URL,
        "password": password,
        "region": settings.REGION,
        "users": settings.SERVICE_USERS,
        "endpoints": settings.ENDPOINTS,
    }
    _run("register", [_PYTHON, "-c", settings.REGISTRATION], say, json.dumps(registration))
    close(services)


_NEUTRON = (
    "--config-file",
    "/etc/neutron/neutron.conf",
    "--config-file",
    "/etc/neutron/plugins/ml2/ml2_conf.ini",
)


def _run(name: str, command: list[str], say: Callable[..., None], text: str = "") -> None:
    began = time.monotonic()
    with open(f"/var/log/bmwg/{name}.log", "ab") as log:
        done = subprocess.run(
            command,
            input=text.encode(),
            stdout=log,
            stderr=subprocess.STDOUT,
            env=_ENVIRONMENT,
            check=False,
            timeout=300,
        )
    if done.returncode:
        Services(say).running.clear()
        lines = Path(f"/var/log/bmwg/{name}.log").read_text(errors="replace").splitlines()
        say(failed=name, found=f"{command[0]} ended with status {done.returncode}: {' | '.join(lines[-4:])}")
        raise SystemExit(1)
    say(step=f"{name}: {command[0]} {command[1] if len(command) > 1 else ''}", took_s=_since(began))


def _since(began: float) -> float:
    return round(time.monotonic() - began, 2)


def run(services: Services, given: Mapping[str, Any], until_s: float) -> None:
    """Start all services; returns when each of them answers."""
    ground(services, until_s)
    web(services, "keystone", "keystone-wsgi-public", 5000)
    services.wait("keystone", lambda: listens(5000), until_s)
    web(services, "placement", "placement-api", 8778)
    services.start("neutron", "neutron-server", *_NEUTRON)
    services.start("glance", "glance-api", "--config-file", "/etc/glance/glance-api.conf")
    services.start("nova-conductor", "nova-conductor")
    services.start("nova-api", "nova-api")
    _libvirt(services, given)
    services.wait("placement", lambda: listens(8778), until_s)
    services.wait("neutron", lambda: listens(9696), until_s)
    _compute(services, given, until_s)
    services.start("nova-scheduler", "nova-scheduler")
    services.wait("glance", lambda: listens(9292), until_s)
    services.wait("nova-api", lambda: listens(8774), until_s)


def compute(services: Services, given: Mapping[str, Any], until_s: float) -> None:
    """Start what a further compute host runs; the services run on another node."""
    _libvirt(services, given)
    _compute(services, given, until_s)


def _libvirt(services: Services, given: Mapping[str, Any]) -> None:
    listens_too = ("--listen",) if given["moves"] else ()
    services.start("libvirt", "libvirtd", "--config", "/etc/libvirt/libvirtd.conf", *listens_too)


def _compute(services: Services, given: Mapping[str, Any], until_s: float) -> None:
    if given["layer2"] == "openvswitch":
        _open_vswitch(services, given["physical"], until_s)
    services.wait("libvirt", lambda: os.path.exists("/run/libvirt/libvirt-sock"), until_s)
    if given["moves"]:
        services.start(settings.QEMU_EVENTS, _PYTHON, "-c", settings.EVENTS)
    agent = f"neutron-{given['layer2']}-agent"
    services.start(agent, agent, *_NEUTRON, "--config-file", "/etc/neutron/bmwg-agent.ini")
    services.start("nova-compute", "nova-compute", "--config-file", "/etc/nova/nova-compute.conf")


def _open_vswitch(services: Services, physical: Iterable[str], until_s: float) -> None:
    base = "/etc/openvswitch/conf.db"
    if not os.path.exists(base):
        _quiet("ovsdb-tool", "create", base, "/usr/share/openvswitch/vswitch.ovsschema")
    services.start("ovsdb", "ovsdb-server", base, "--remote=punix:/run/openvswitch/db.sock",
                   "--remote=ptcp:6640:127.0.0.1")  # fmt: skip
    services.wait("ovsdb", lambda: os.path.exists("/run/openvswitch/db.sock"), until_s)
    _quiet("ovs-vsctl", "--no-wait", "init")
    services.start("vswitchd", "ovs-vswitchd", "unix:/run/openvswitch/db.sock")
    for name in physical:
        bridge = f"br-{name}"
        _quiet("ovs-vsctl", "--may-exist", "add-br", bridge, "--", "set", "bridge", bridge,
               "datapath_type=netdev", "--", "--may-exist", "add-port", bridge, name)  # fmt: skip
        _quiet("ip", "link", "set", bridge, "up")


def _quiet(*command: str) -> None:
    subprocess.run(command, check=True, env=_ENVIRONMENT, timeout=60, capture_output=True)


def close(services: Services) -> None:
    """End everything, the data base last and cleanly."""
    keep = ("mariadb", "rabbitmq", "memcached")
    services.stop([name for name in reversed(services.running) if name not in keep])
    if "rabbitmq" in services.running:
        stop = ["rabbitmqctl", "shutdown", "--no-wait"]
        subprocess.run(stop, env=_ENVIRONMENT, check=False, timeout=60, capture_output=True)
    services.stop(("rabbitmq", "memcached", "mariadb"))


def main(work: str) -> None:
    """Do what standard input asks for: `{"do": "prepare" | "run" | "compute", ...}`."""
    given = json.load(sys.stdin)
    progress = os.open(f"{work}/progress", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def say(**line: Any) -> None:
        os.write(progress, json.dumps(line).encode() + b"\n")

    process.set_hostname(given["host"])
    if given["cpus"]:
        os.sched_setaffinity(0, given["cpus"])
    enter(
        given["root"],
        given["layers"],
        given["logs"],
        kvm=given["accelerator"] == "kvm",
        in_memory=given["do"] != "prepare",
    )
    write(
        settings.files(
            password=given["password"],
            physical=given["physical"],
            accelerator=given["accelerator"],
            token_s=given["token_s"],
            layer2=given["layer2"],
            cpus=given["cpus"],
            host=given["host"],
            address=given["address"],
            moves=given["moves"],
        )
    )
    services = Services(say)
    until_s = time.monotonic() + _SERVICES_DEADLINE_S
    signal.signal(signal.SIGTERM, _end)
    if given["do"] == "prepare":
        prepare(services, given, until_s, say)
        say(ready=True)
        return
    (run if given["do"] == "run" else compute)(services, given, until_s)
    say(ready=True)
    names = {service.pid: name for name, service in services.running.items()}
    while True:  # collects what ends here, as a first process must; services never all end
        ended, status = os.waitpid(-1, 0)
        if ended in names:
            say(ended=names[ended], status=status)


def _end(number: int, frame: object) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    main(sys.argv[1])
