"""What a platform record costs: of the machine, of a pod and of a node over SSH; JSON on standard output.

Each is what a person would run, `bmwg record ...`, from the start of its process to its end; the pod and the
node stand before. The peak is the process's own. Limits: 2 s and 80 MB for the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bmwg.drivers.containers import oci
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.methodology.record.coverage import coverage

SSHD = "/usr/sbin/sshd"
LIMIT_S, LIMIT_OCTETS = 2.0, 80_000_000
# the command's peak is not what this process held when it forked, which ru_maxrss would begin with
RUN = """
import sys
from bmwg.cli.main import main
status = main(["record", *sys.argv[2:]])
rows = dict(line.split(":", 1) for line in open("/proc/self/status"))
open(sys.argv[1], "w").write(rows["VmHWM"].split()[0])
sys.exit(status)
"""


def taken(runs: int, folder: Path, *options: str) -> dict[str, Any]:
    """Take a record so many times; its time (s), peak memory (octets) and size (octets of JSON)."""
    took_s, peaks, sizes = [], [], []
    output, peak = folder / "record.json", folder / "peak"
    for _ in range(runs):
        command = [sys.executable, "-c", RUN, str(peak), *options, "--output", str(output)]
        began_s = time.perf_counter()
        subprocess.run(command, check=True, timeout=120, stdout=subprocess.DEVNULL)
        took_s.append(time.perf_counter() - began_s)
        peaks.append(int(peak.read_text()) << 10)
        sizes.append(output.stat().st_size)
        score = coverage([json.loads(output.read_text())])
        output.unlink()
    return {
        "median_s": round(statistics.median(took_s), 3),
        "min_s": round(min(took_s), 3),
        "max_s": round(max(took_s), 3),
        "runs": runs,
        "peak_octets": max(peaks),
        "record_octets": max(sizes),
        "rows": len(score.rows),
        "rows_answered_or_not_applicable": round(score.ratio, 4),
    }


def pod(runs: int, folder: Path) -> dict[str, Any]:
    """Of a pod on a namespace node, from the node's side."""
    spec = PodSpec(pod_id=f"rec{os.getpid()}", cpus="0", memory_octets=64 << 20).as_builtins()
    place = {"pod_id": spec["pod_id"], "state_dir": str(folder)}
    with NamespaceNode("rec") as node:
        made = node.call(oci.create, spec=spec, state_dir=str(folder))
        try:
            node.call(oci.start, **place)
            found = taken(runs, folder, "--pid", str(made["pid"]))
        finally:
            node.call(oci.delete, **place)
    del found["rows"], found["rows_answered_or_not_applicable"]  # rows ask for the machine as well
    return found


def over_ssh(runs: int, folder: Path) -> dict[str, Any]:
    """Of a namespace node behind an SSH server that is started for each connection."""
    for name in ("host", "user"):
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(make, check=True, timeout=20)
    (folder / "known").write_text("far " + (folder / "host.pub").read_text())
    with NamespaceNode("recfar") as node:
        enter = f"nsenter --target={node.pid} --net --mount --uts"
        subprocess.run([*enter.split(), "mkdir", "-p", "/run/sshd"], check=True, timeout=10)
        settings = (
            f"HostKey={folder}/host", f"AuthorizedKeysFile={folder}/user.pub", "UsePAM=no",
            "StrictModes=no", "PermitRootLogin=prohibit-password", "PasswordAuthentication=no",
        )  # fmt: skip
        server = f"{enter} {SSHD} -i -f /dev/null " + " ".join(f"-o {one}" for one in settings)
        options = {
            "IdentityFile": f"{folder}/user",
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": f"{folder}/known",
            "HostKeyAlias": "far",
            "ProxyCommand": server,
        }
        given = [word for key, text in options.items() for word in ("--ssh-option", f"{key}={text}")]
        return taken(runs, folder, "--ssh", "root@far", "--ssh-python", sys.executable, *given)


def main() -> int:
    """Measure all three; 1 when the machine's record is above a limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory(prefix="bmwg-record-") as temporary:
        folder = Path(temporary)
        answer = {"machine": taken(runs, folder), "pod": pod(runs, folder)}
        if Path(SSHD).exists():
            answer["node over SSH"] = over_ssh(runs, folder)
    print(json.dumps(answer, indent=1))
    machine = answer["machine"]
    return int(machine["median_s"] > LIMIT_S or machine["peak_octets"] > LIMIT_OCTETS)


if __name__ == "__main__":
    sys.exit(main())
