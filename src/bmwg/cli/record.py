"""`bmwg record`, `bmwg record --diff A B` and `bmwg doctor`: on what a run measures, and what is wrong with
it.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmwg.cli import as_json
from bmwg.drivers.platform_record.collect import collect
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.record.coverage import Answer, Coverage, coverage
from bmwg.methodology.record.drift import differences
from bmwg.methodology.record.findings import Weight
from bmwg.methodology.record.overlay import apply_overlay, read_overlay
from bmwg.methodology.record.redaction import MIN_SALT_OCTETS, redact
from bmwg.reports.store.files import write_new
from bmwg.schemas.validation import problems

_GUEST_CPUS, _GUEST_OCTETS = 2, 1 << 30  # choice: a record needs no more
_EXPECTED_OF = "quick"  # the profile of a first run: the doctor says what to expect of it
_GUEST_BUDGET_S, _GUEST_DEADLINE_S = 60.0, 300.0  # choice: without hardware virtualization all is slow


def add_parser(verbs: Any) -> None:
    """Add the verbs to the command."""
    parser = verbs.add_parser(
        "record",
        help="take or compare platform configuration records",
        description="Write down on what a run would measure, fact by fact, or compare two such records.",
    )
    parser.add_argument(
        "--diff", nargs=2, type=Path, metavar=("A", "B"), help="print what differs between two records"
    )
    parser.add_argument(
        "--scope", default="machine", help="machine (default), network, or workload with --pid"
    )
    parser.add_argument("--pid", type=int, help="record this process and its network namespace from outside")
    parser.add_argument(
        "--ssh", metavar="[USER@]HOST[:PORT]", help="take the record on that machine, which has the toolkit"
    )
    parser.add_argument(
        "--ssh-python", metavar="FILE", default="python3", help="interpreter there that has the toolkit"
    )
    parser.add_argument(
        "--ssh-option", action="append", default=[], metavar="KEY=VALUE", help="keyword of ssh_config(5)"
    )
    parser.add_argument(
        "--in-guest", action="store_true", help="boot a guest with the distribution's kernel and record that"
    )
    parser.add_argument("--overlay", type=Path, help="YAML file of facts that a person declares")
    parser.add_argument("--output", type=Path, help="write the record here; an existing file is refused")
    parser.add_argument("--json", action="store_true", help="print the whole record")
    parser.add_argument(
        "--redact",
        type=Path,
        metavar="SALT",
        help="replace names, serials and addresses by salted hashes; the salt's file is made when it "
        "is not there",
    )
    parser.set_defaults(handler=handle_record)
    doctor = verbs.add_parser(
        "doctor",
        help="what is known to distort results, found on this machine",
        description="Say what of this machine is known to distort results, and what to expect of a run on "
        "it. Status 1: a finding stands against something that the testbed asks for.",
    )
    doctor.add_argument("--testbed", type=Path, help="testbed file (default: the embedded testbed)")
    as_json.add_argument(doctor)
    doctor.set_defaults(handler=handle_doctor)


def handle_record(chosen: argparse.Namespace) -> int:
    """Take a record and say how much of the catalogue it answers; or compare two. 1 when two differ."""
    if chosen.diff:
        return _compare(*chosen.diff)
    if chosen.output and chosen.output.exists():
        raise ConfigError(
            "REC-08", f"{chosen.output} exists", expected="a new file", hint="choose another name"
        )
    scope = "workload" if chosen.pid is not None else chosen.scope
    record = _taken(chosen, scope)
    if chosen.overlay:
        overlay = read_overlay(_text(chosen.overlay), str(chosen.overlay))
        record = apply_overlay(record, overlay, str(chosen.overlay))
    score = coverage([record])
    if chosen.redact:
        record = redact(record, read_salt(chosen.redact))
    if chosen.output:
        write_new(chosen.output, json.dumps(record, indent=1, sort_keys=True) + "\n")
    if chosen.json:
        print(json.dumps(record, indent=1, sort_keys=True))
    else:
        print(f"record of scope {record['scope']}, taken in {record['took_ms']} ms")
        if scope == "machine":
            print(_score_text(score))
        print(
            f"written to {chosen.output}"
            if chosen.output
            else "not written: --output FILE keeps it, --json prints it"
        )
    return 0


def _taken(chosen: argparse.Namespace, scope: str) -> dict[str, Any]:
    """Take the record here, in a guest, or on the machine that `--ssh` names."""
    if chosen.in_guest:
        return _of_guest(chosen, scope)
    if not chosen.ssh:
        return collect(scope, pid=chosen.pid)
    options = {}
    for text in chosen.ssh_option:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError("REC-08", "--ssh-option", expected="KEY=VALUE", found=repr(text))
        options[key] = value
    from bmwg.drivers.nodes.ssh import SshNode  # this and the like below: only who asks waits for it

    with SshNode("node", chosen.ssh, python=chosen.ssh_python, options=options) as node:
        return node.call(collect, scope=scope, pid=chosen.pid)


def _of_guest(chosen: argparse.Namespace, scope: str) -> dict[str, Any]:
    """Boot a guest, take its record from within, and remove it."""
    if chosen.ssh or chosen.pid is not None:
        raise ConfigError("REC-08", "--in-guest", expected="no --ssh and no --pid beside it", found="one")
    from bmwg.drivers.machines.qemu import MachineSpec, probe_accelerator
    from bmwg.drivers.machines.qemu_machine import Machine

    accelerator, _ = probe_accelerator()
    cpus = min(_GUEST_CPUS, os.cpu_count() or 1)
    spec = MachineSpec(
        name=f"record-{secrets.token_hex(2)}",
        cpus=cpus,
        memory_octets=_GUEST_OCTETS,
        accelerator=accelerator,
    )
    with Machine(spec) as machine:
        return machine.node.call_within(_GUEST_DEADLINE_S, collect, scope=scope, budget_s=_GUEST_BUDGET_S)


def _score_text(score: Coverage) -> str:
    lines = [
        "configuration rows of RFC 8172, RFC 8204 and draft-ietf-bmwg-containerized-infra: "
        f"{len(score.rows)}",
        f"  answered {score.count(Answer.ANSWERED)}, not applicable with a reason "
        f"{score.count(Answer.NOT_APPLICABLE)}, missing {score.count(Answer.MISSING)} "
        f"({score.ratio:.1%} answered or not applicable)",
    ]
    for row in score.rows:
        if row.answer is Answer.MISSING:
            lines.append(f"  {row.row}")
            lines.extend(f"      {gap.path}: {gap.reason}; {gap.supply}" for gap in row.gaps)
    return "\n".join(lines)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no UTF-8 text"
        raise ConfigError("REC-08", f"{path} cannot be read", found=str(reason)) from error


def _read(path: Path) -> Mapping[str, Any]:
    """One record, or the record before the run of a `platform.json`."""
    try:
        data = json.loads(_text(path))
    except ValueError as error:
        raise ConfigError("REC-08", f"{path} is no JSON", found=str(error)) from error
    if isinstance(data, dict) and str(data.get("schema", "")).startswith("platform/"):
        data = data["base"]["before"]
    if found := problems(data, "record"):
        raise ConfigError("REC-08", f"{path} is no record", found=str(found[0]))
    record: Mapping[str, Any] = data
    return record


def _compare(first: Path, second: Path) -> int:
    changes = differences(_read(first), _read(second))
    lasting = [change for change in changes if not change.volatile]
    for change in lasting:
        print(change)
    passing = len(changes) - len(lasting)
    print(
        f"{len(lasting)} change(s)"
        + (f", and {passing} in facts that change by themselves" if passing else "")
    )
    return 1 if lasting else 0


def read_salt(path: Path) -> bytes:
    """The salt of a file; a new one, readable by its owner alone, when there is none."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _text(path).strip().encode()
    except OSError as error:
        raise ConfigError("REC-08", f"{path} cannot be made", found=str(error.strerror)) from error
    salt = secrets.token_hex(MIN_SALT_OCTETS)
    with os.fdopen(descriptor, "w", encoding="ascii") as stream:
        stream.write(salt + "\n")
    return salt.encode()


def handle_doctor(chosen: argparse.Namespace) -> int:
    """Print what was found, how often CPUs are taken away and whether they keep their speed.

    1 when a finding blocks something that the testbed asks for.
    """
    from bmwg.drivers.platform_record.doctor import by_weight, examine
    from bmwg.drivers.platform_record.doctor import speed as steady
    from bmwg.drivers.platform_record.doctor import stalls as live
    from bmwg.drivers.testbed.file import load_testbed
    from bmwg.methodology.profiles import load_profile

    testbed = load_testbed(chosen.testbed)
    stalls = live.look(testbed, load_profile(_EXPECTED_OF))
    speed = steady.look(testbed)
    live_findings = [
        *(live.findings(stalls) if stalls else ()),
        *(steady.findings(speed) if speed else ()),
    ]
    found = by_weight([*examine(testbed), *live_findings])
    if chosen.json:
        whole = {
            "findings": [finding.as_json() for finding in found],
            "stalls": stalls.as_json() if stalls else None,
            "speed": speed.as_json() if speed else None,
        }
        as_json.show("doctor", whole)
    else:
        for finding in found:
            print(finding)
        print(f"{len(found)} finding(s)" if found else "nothing found")
        for line in (*(live.lines(stalls) if stalls else ()), *(steady.lines(speed) if speed else ())):
            print(line)
    return 1 if any(finding.weight is Weight.BLOCKS for finding in found) else 0
