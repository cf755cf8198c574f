"""Kills at random moments in a lab of two machines: what is left on either after `bmwg cleanup`. Prints JSON.

Each round starts a run of wire, node and PVP over SSH and kills the runner, the host's agents of the run or
the host's sshd at a random moment. It waits for what goes on, joins the cables again (a veth ends with its
namespaces, a NIC does not), cleans up and compares both machines with what they were: interfaces, addresses,
routes, rules, settings of the network, hugepages, files of runs.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from tests.contract.frame_lab import GENERATOR, RUNNER, FrameLab, frame_lab
from tests.contract.lab_support import start_sshd

from bmwg.drivers.nodes import process

DUT = "dut1"
_TESTER = "tester"  # how the agents of the tester's host are labelled
_TESTS = ("--test", "CN-TPUT-1.1", "--test", "CN-TPUT-1.2", "--test", "CN-TPUT-1.3")
_LOOKS = (
    "ip -json address",
    "ip -json route show table all",
    "ip -json rule",
    "sysctl -a --pattern ^net.ipv[46].(conf|neigh).(all|default|lo)",
    "cat /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv6/conf/all/forwarding",
    "cat /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
)
_ENDS_WITHIN_S = 240.0


def state(lab: FrameLab) -> dict[str, object]:
    """What each machine is, as far as a run could have changed it."""
    found: dict[str, object] = {"files": lab.files(), "interfaces": lab.listed()}
    for name, node in lab.machines.items():
        enter = ["nsenter", f"--target={node.pid}", "--net", "--mount", "--uts"]
        for look in _LOOKS:
            told = subprocess.run(
                [*enter, *look.split()], check=False, capture_output=True, text=True, timeout=20
            )
            found[f"{name}: {look}"] = _steady(told.stdout)
    return found


def _steady(text: str) -> str:
    """Without what differs from pair to pair: numbers of interfaces, addresses of link scope, times."""
    try:
        data = json.loads(text)
    except ValueError:
        return text
    if not isinstance(data, list):
        return text
    kept = []
    for one in data:
        if str(one.get("dst", "")).startswith(("fe80", "ff00")) or one.get("protocol") == "kernel":
            continue
        one.pop("ifindex", None)
        one.pop("link_index", None)
        one.pop("link_netnsid", None)
        one.pop("txqlen", None)
        one.pop("operstate", None)
        one["addr_info"] = [
            {key: address[key] for key in ("local", "prefixlen")}
            for address in one.get("addr_info", ())
            if address.get("scope") != "link"
        ]
        kept.append(one)
    return json.dumps(sorted(kept, key=json.dumps))


_OWNER = process.OWNER_VARIABLE.encode()


def victims(lab: FrameLab, what: str, runner: int) -> list[int]:
    """The processes to kill: this machine's runner, or the host's agents of the run, or its sshd."""
    if what == "runner":
        return [runner]
    mine = f"{lab.folder}".encode()
    found = []
    for pid, words in process.each("cmdline"):
        line = b" ".join(words)
        if what == "sshd" and b"sshd" in line and mine in line:
            found.append(pid)
        if what == "agent" and b"exec(eval(sys.stdin.readline()))" in line and b"ssh" not in words[0]:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            labels = [f"-{name}".encode() for name in (DUT, _TESTER, "agent")]
            label = next((one for one in environment.split(b"\0") if one.startswith(_OWNER)), b"")
            if label.endswith(tuple(labels)):
                found.append(pid)
    return found


def round_of(lab: FrameLab, stack: ExitStack, what: str, after_s: float) -> dict[str, object]:
    """One kill; returns what differs afterwards."""
    before = state(lab)
    told: dict[str, object] = {"kills": what, "after_s": round(after_s, 1)}
    log = lab.folder / "out"
    with (
        log.open("w") as output,
        subprocess.Popen(
            lab.command("run", *lab.given, *_TESTS),
            env=lab.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as runner,
    ):
        time.sleep(after_s)
        while not (pids := victims(lab, what, runner.pid)) and runner.poll() is None:
            time.sleep(0.05)  # it has not begun there
        told["killed"] = len(pids)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        began_s = time.monotonic()
        try:
            told["status"] = runner.wait(_ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            told["hangs"] = True
            runner.kill()
        told["ended_after_s"] = round(time.monotonic() - began_s, 1)
    if what == "sshd":
        for name, node in lab.machines.items():
            if name != RUNNER:
                start_sshd(stack, node, lab.folder, name)
    wanted = {machine: {name for name, *_ in rows} for machine, rows in before["interfaces"].items()}  # type: ignore[attr-defined]
    if any(wanted[name] - {row[0] for row in rows} for name, rows in lab.listed().items()):
        time.sleep(1.0)
        _again(lab)
    cleaned = lab.bmwg("cleanup", "--all")
    told["cleanup"] = cleaned.returncode
    if cleaned.returncode:
        told["said"] = (cleaned.stdout + cleaned.stderr)[-1500:]
    after = state(lab)
    told["differs"] = sorted(key for key in before if before[key] != after[key])
    if told["differs"]:
        told["first"] = [
            str(before[str(told["differs"][0])])[-400:],
            str(after[str(told["differs"][0])])[-400:],
        ]  # type: ignore[index]
    return told


def _again(lab: FrameLab) -> None:
    """Join the cables anew: first what is left of them goes."""
    for machine, name in [end for cable in lab.cables for end in cable]:
        enter = ["nsenter", f"--target={lab.machines[machine].pid}", "--net"]
        subprocess.run([*enter, "ip", "link", "del", name], check=False, capture_output=True, timeout=10)
    lab.cable()


def main() -> None:
    """Run the rounds and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=36)
    parser.add_argument("--longest-s", type=float, default=45.0)
    parser.add_argument("--tester-host", action="store_true", help="the tester is on a host of its own")
    chosen = parser.parse_args()
    drawn = random.Random(chosen.seed)
    rounds = []
    with ExitStack() as stack, tempfile.TemporaryDirectory(prefix="lab-kills-") as folder:
        tester = GENERATOR if chosen.tester_host else RUNNER
        lab = stack.enter_context(frame_lab(Path(folder) / "lab", tester=tester))
        for _ in range(chosen.rounds):
            what = drawn.choice(["runner", "runner", "agent", "sshd"])
            rounds.append(round_of(lab, stack, what, drawn.uniform(1.0, chosen.longest_s)))
            print(json.dumps(rounds[-1]), flush=True)
    clean = sum(not one["differs"] and not one["cleanup"] and "hangs" not in one for one in rounds)
    print(json.dumps({"rounds": len(rounds), "as_before": clean, "seed": chosen.seed}))


if __name__ == "__main__":
    main()
