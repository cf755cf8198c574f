#!/usr/bin/env python3
"""Run one command line of the README on a Debian that holds nothing but a base system and git.

The root file system is made for the purpose and runs as a privileged container: mount, IPC and host name
spaces of its own, every capability that this machine's root has, this machine's /dev, /sys (cgroups
included) and network. The network is shared only because packages must be fetched; the toolkit's own
traffic stays in namespaces that it makes.
A plain chroot is not enough: its root is no mount point, and the container runtime inside needs one.

    python3 tests/cold/cold.py main            the README's first line
    python3 tests/cold/cold.py tests           the README's second line
    python3 tests/cold/cold.py 'sh -x foo'     any other line
    python3 tests/cold/cold.py main --suite trixie   the same on another release of Debian
    python3 tests/cold/cold.py verify --give BUNDLE --give KEY.pub --ref COMMIT
                                               a bundle, at the commit that measured it, with no more
                                               than Python: it is rendered anew and compared as well
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
PASSED_ENV = re.compile(
    r"^(PIP_.*|SSL_.*|.*_proxy|.*_PROXY|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|GIT_SSL_CAINFO)$"
)
CHECKOUT = "/root/bmwg-toolkit"
SUITE = "bookworm"
VERIFY = (
    "apt-get update -q && apt-get install -y -q --no-install-recommends python3-venv && "
    "python3 -m venv /v && /v/bin/pip install -q -c setup/constraints.txt -e . && "
    "/v/bin/bmwg verify /root/*.bmwg.tar --key /root/*.pub"
)
NAMES = (
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE "
    "NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT "
    "SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE "
    "AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ "
    "PERFMON BPF CHECKPOINT_RESTORE"
)
HYBRID = "/sys/fs/cgroup/unified"
# crun refuses a hybrid of both cgroup versions whose version 2 has controllers: show it version 1 alone,
# and put the other back inside, where the toolkit has to cope with what the machine has
OLD_CGROUPS_ONLY = (
    "unshare", "--mount", "--propagation", "private", "sh", "-c",
    f'if mountpoint -q {HYBRID}; then umount {HYBRID}; fi; exec "$@"', "sh",
)  # fmt: skip


def readme_line(which: str) -> str:
    """The one line of the README that does the main job (`main`) or passes the tests (`tests`)."""
    start = "sh setup/install.sh tests " if which == "tests" else "sh setup/install.sh &&"
    lines = [line.strip() for line in (REPO / "README.md").read_text().splitlines()]
    found = [line for line in lines if line.startswith(start)]
    if len(found) != 1:
        sys.exit(f"README.md: expected exactly one line that starts with '{start}', found {len(found)}")
    return found[0]


@contextlib.contextmanager
def timed(what: str) -> Iterator[None]:
    """Say what begins and how long it took."""
    print(f"== {what}", flush=True)
    began = time.monotonic()
    yield
    print(f"== {what}: {time.monotonic() - began:.1f} s", flush=True)


def sources_of(suite: str, to: Path, etc: Path = Path("/etc")) -> list[Path]:
    """Write this machine's package sources of Debian for a release of it, and return the files."""
    told = re.findall(r'^([A-Z_]+)="?([^"\n]*)"?$', (etc / "os-release").read_text(encoding="utf-8"), re.M)
    release = dict(told)
    sources = [p for p in sorted((etc / "apt/sources.list.d").glob("*.sources")) if "debian" in p.name]
    sources += [] if sources else [etc / "apt/sources.list"]
    here = release.get("VERSION_CODENAME", "")
    if release.get("ID") != "debian" or not here or not all(source.is_file() for source in sources):
        sys.exit(f"this is {release.get('PRETTY_NAME', 'no Debian')}: package sources of a Debian are needed")
    made = []
    for number, source in enumerate(sources):
        made.append(to / f"{number}-{source.name}")
        made[-1].write_text(source.read_text(encoding="utf-8").replace(here, suite), encoding="utf-8")
    return made


def make_base(tarball: Path, suite: str, work: Path) -> None:
    """A minimal Debian of this suite with git, from the package sources that this machine uses."""
    partial, sources = tarball.with_suffix(".partial.tar"), sources_of(suite, work)
    subprocess.run(
        ["mmdebstrap", "--variant=minbase", "--include=git,ca-certificates", suite, partial, *sources],
        check=True, timeout=900, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    partial.rename(tarball)


def settle_in(root: Path) -> None:
    """Give the new system this machine's way to the package registries, and nothing else."""
    settings = subprocess.run(["apt-config", "dump"], check=True, capture_output=True, text=True, timeout=30)
    keep = [line for line in settings.stdout.splitlines() if re.match(r"Acquire::(Check-|http|https)", line)]
    (root / "etc/apt/apt.conf.d/99cold").write_text("\n".join(keep) + "\n")
    for path in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf"):
        if Path(path).exists():
            (root / path[1:]).unlink(missing_ok=True)
            shutil.copy(path, root / path[1:])
    certificates = Path("/etc/ssl/certs/ca-certificates.crt")
    if certificates.exists():
        shutil.copy(certificates, root / "etc/ssl/certs/ca-certificates.crt")
    own = "usr/local/share/ca-certificates"  # a later update-ca-certificates inside must find them again
    if Path(f"/{own}").is_dir():
        shutil.copytree(f"/{own}", root / own, dirs_exist_ok=True)


def container(command: str, name: str) -> dict[str, object]:
    """The OCI configuration of the privileged container that runs `command`."""
    status = Path("/proc/self/status").read_text()
    held = int(re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.MULTILINE)[1], 16)  # type: ignore[index]
    capabilities = ["CAP_" + cap for number, cap in enumerate(NAMES.split()) if held >> number & 1]
    bind = ["rbind", "rslave"]
    env = [f"{key}={value}" for key, value in sorted(os.environ.items()) if PASSED_ENV.match(key)]
    return {
        "ociVersion": "1.0.0",
        "hostname": "cold",
        "root": {"path": "rootfs", "readonly": False},
        "process": {
            "terminal": False,
            "user": {"uid": 0, "gid": 0},
            "args": ["/bin/sh", "-c", command],
            "cwd": "/root",
            "env": [
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME=/root", "LANG=C.UTF-8", "TERM=dumb", *env,
            ],
            "capabilities": dict.fromkeys(
                ("bounding", "effective", "inheritable", "permitted", "ambient"), capabilities
            ),
            "noNewPrivileges": False,
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "none", "source": "/dev", "options": bind},
            {"destination": "/sys", "type": "none", "source": "/sys", "options": bind},
            {"destination": "/run", "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"]},
        ],
        "linux": {
            "cgroupsPath": f"/{name}",
            "resources": {"devices": [{"allow": True, "access": "rwm"}]},
            # the kernel's threads (threaded NAPI) are only seen from this machine's own process namespace
            "namespaces": [{"type": kind} for kind in ("mount", "ipc", "uts")],
        },
    }  # fmt: skip


def run_container(bundle: Path, name: str, deadline_s: float) -> int:
    """Run it with the seconds since its start before each line; end it at the deadline."""
    crun = ["crun", f"--root={bundle / 'state'}", "--cgroup-manager=cgroupfs"]
    pid_file = bundle / "pid"
    began = time.monotonic()
    process = subprocess.Popen(
        [*OLD_CGROUPS_ONLY, *crun, "run", f"--pid-file={pid_file}", f"--bundle={bundle}", name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    late = threading.Event()

    def end() -> None:
        late.set()
        subprocess.run([*OLD_CGROUPS_ONLY, *crun, "delete", "--force", name], timeout=60, check=False)

    def show() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            print(f"{time.monotonic() - began:7.1f} | {line.rstrip()}", flush=True)

    # a process that the line left running holds the pipe open: the reader is not waited for without an end
    reader = threading.Thread(target=show, daemon=True)
    reader.start()
    timer = threading.Timer(deadline_s, end)
    timer.start()
    try:
        while process.poll() is None:
            time.sleep(0.2)
            # crun ends when the container's cgroup is empty, so what was left running must go first
            if pid_file.exists() and not Path(f"/proc/{pid_file.read_text().strip() or 0}").exists():
                time.sleep(2)
                end_processes(bundle)
            if time.monotonic() - began > deadline_s + 60:
                process.kill()
        status = process.wait()
        reader.join(timeout=5)
    finally:
        timer.cancel()
        force = [*OLD_CGROUPS_ONLY, *crun, "delete", "--force", name]
        subprocess.run(force, timeout=60, check=False, stderr=subprocess.DEVNULL)
    if late.is_set():
        print(f"== no end after {deadline_s:.0f} s: stopped")
        return 124
    return status


def end_processes(work: Path) -> None:
    """Kill every process whose root directory is the new system's, and say so."""
    try:
        ours = (work / "rootfs").stat()
    except FileNotFoundError:
        return
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and os.path.samestat((process / "root").stat(), ours):
                print(
                    f"== a process was left, killed: {process.name} {(process / 'comm').read_text().strip()}"
                )
                os.kill(int(process.name), signal.SIGKILL)


def remove(work: Path, name: str) -> None:
    """Take everything away, and say so when something was left."""
    end_processes(work)
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f" {work}/" in line]
    if mounts:
        sys.exit(f"still mounted below {work}, nothing removed:\n" + "\n".join(mounts))
    for group in sorted(Path("/sys/fs/cgroup").glob(f"**/{name}"), reverse=True):
        for child in sorted((p for p in group.rglob("*") if p.is_dir()), reverse=True):
            child.rmdir()
        group.rmdir()
        print(f"== removed a cgroup that was left: {group}")
    subprocess.run(["rm", "-rf", "--one-file-system", work], check=True, timeout=300)


def main() -> int:
    """Make, run, fetch, remove."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("line", help="`main`, `tests`, or a command line run in the checkout")
    parser.add_argument("--repo", default=str(REPO), help="repository to clone (default: this one)")
    parser.add_argument("--ref", default="HEAD", help="branch or commit (default: HEAD)")
    parser.add_argument("--suite", default=SUITE, help=f"Debian's name for the release (default: {SUITE})")
    parser.add_argument("--base", type=Path, help="keep the base system in this tar file and use it again")
    parser.add_argument("--deadline", type=float, default=3000, metavar="SECONDS")
    parser.add_argument(
        "--give", action="append", default=[], type=Path, metavar="FILE", help="copy a file into /root"
    )
    parser.add_argument("--fetch", nargs=2, metavar=("FROM", "TO"), help="copy a path of the checkout out")
    arguments = parser.parse_args()
    for program in ("mmdebstrap", "crun", "git", "tar"):
        if shutil.which(program) is None:
            sys.exit(f"{program} is missing: apt-get install {program}")
    if os.geteuid() != 0:
        sys.exit("not root: a privileged container needs it")
    line = readme_line(arguments.line) if arguments.line in ("main", "tests") else arguments.line
    if line == "verify":
        line = VERIFY
    began = time.monotonic()
    work = Path(tempfile.mkdtemp(prefix="bmwg-cold-", dir="/var/tmp")).resolve()
    try:
        base = arguments.base or work / "base.tar"
        if not base.exists():
            with timed("making the base system"):
                make_base(base, arguments.suite, work)
        with timed("unpacking it"):
            root = work / "rootfs"
            root.mkdir()
            subprocess.run(["tar", "-C", root, "--exclude=./dev/*", "-xf", base], check=True, timeout=300)
            settle_in(root)
            for given in arguments.give:
                shutil.copy(given, root / "root")
        with timed(f"cloning {arguments.ref}"):
            bare = root / "srv/toolkit.git"
            subprocess.run(["git", "init", "-q", "--bare", "-b", "main", bare], check=True, timeout=60)
            source = ["git", "-C", arguments.repo, "push", "-q", bare, f"{arguments.ref}:refs/heads/main"]
            subprocess.run(source, check=True, timeout=300)
        hybrid = f"mount -t cgroup2 cgroup2 {HYBRID}; " if os.path.ismount(HYBRID) else ""
        command = f"set -e; {hybrid}git clone -q /srv/toolkit.git {CHECKOUT}; cd {CHECKOUT}; {line}"
        (work / "config.json").write_text(json.dumps(container(command, work.name), indent=1))
        with timed(f"running: {line}"):
            status = run_container(work, work.name, arguments.deadline)
        if arguments.fetch:
            source_path = root / CHECKOUT[1:] / arguments.fetch[0]
            subprocess.run(["cp", "-a", source_path, arguments.fetch[1]], check=False, timeout=300)
    finally:
        with timed("removing it"):
            remove(work, work.name)
    print(f"== exit status {status}, {time.monotonic() - began:.1f} s in all")
    return status


if __name__ == "__main__":
    sys.exit(main())
