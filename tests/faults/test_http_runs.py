"""Runs of HTTP experiments that lose proxy, daemon or virtual machine in the midst, or are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.contract.http_support import (
    labelled,
    needs_docker,
    needs_guest,
    needs_http,
    needs_libvirt,
    needs_pods,
)
from tests.unit.http import made

from bmwg.drivers.nodes import cgroups, process
from bmwg.drivers.testbed.file import embedded_file
from bmwg.drivers.undo import ledger
from bmwg.drivers.workload import ab, tools
from bmwg.methodology.kinds.repeated.profile import Profile
from bmwg.methodology.kinds.requests import profile as profiles
from bmwg.methodology.kinds.requests.profile import load as load_profile
from bmwg.methodology.kinds.requests.profile import test_id as name_of_test
from bmwg.methodology.kinds.requests.records import FORMS, RequestsSpec
from bmwg.methodology.records import OutcomeType
from bmwg.reports.kinds.requests.answers import answers_of
from bmwg.reports.store import read_run
from bmwg.resources.run.settings import Settings

pytestmark = needs_http
LIBVIRT = "vms: {driver: libvirt}"
_LIBVIRT_MARKS = [*needs_guest, needs_libvirt, pytest.mark.slow]


def tiny(form: str, *, requests: int) -> Profile[RequestsSpec]:
    """One cell on one form, two repetitions."""
    data: dict[str, Any] = json.loads(json.dumps(load_profile("quick").data))
    first = data["experiments"][0]
    forms = [form] if form in FORMS else ["native"]  # a pod is planned by its network option
    first |= {"objects": [{"octets": 1000, "requests": requests}], "forms": forms, "warm_up_requests": 0}
    data |= {"experiments": [first], "repetitions": 2, "max_invalid": 2}
    return profiles.PROFILES.of(data)


def words_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def owned(program: bytes, owner: str) -> list[int]:
    """Processes of a program that carry a run's label."""
    return [
        pid for pid in process.owned_pids(owner) if words_of(pid)[:1] and words_of(pid)[0].endswith(program)
    ]


def kill_under_load(program: bytes, owner: str, killed: list[int]) -> threading.Thread:
    """Kill the run's processes of a program as soon as its ab is asking."""

    def look() -> None:
        end_s = time.monotonic() + 100
        while time.monotonic() < end_s and not owned(b"ab", owner):
            time.sleep(0.01)
        for pid in owned(program, owner):
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("form", "program", "requests", "vms"),
    [
        ("native", b"squid", 1000, ""),
        pytest.param("pod_host-device", b"squid", 1000, "", marks=[needs_pods, pytest.mark.slow]),
        pytest.param("docker_nat", b"dockerd", 1000, "", marks=[needs_docker, pytest.mark.slow]),
        pytest.param("vm_para", b"qemu-system-x86_64", 100, "", marks=[*needs_guest, pytest.mark.slow]),
        pytest.param("vm_para", b"qemu-system-x86_64", 100, LIBVIRT, marks=_LIBVIRT_MARKS),
        pytest.param("vm_full", b"libvirtd", 100, LIBVIRT, marks=_LIBVIRT_MARKS),
    ],
)
def test_what_is_killed_in_mid_run_is_an_invalid_repetition_and_a_new_deployment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, program: bytes, requests: int, vms: str
) -> None:
    testbed = tmp_path / "testbed.yaml"
    testbed.write_text(f"{embedded_file().read_text()}\n{vms}\n")
    monkeypatch.setattr(profiles, "load", lambda name, forms: tiny(form, requests=requests))
    test_id = name_of_test("one_client", form)
    bench = made.opened(Settings(results=tmp_path, run_id="r", testbed=testbed), {test_id})
    try:
        bench._stage.set(form)
        row = bench._stage.row()
        killed: list[int] = []
        thread = kill_under_load(program, bench.run.owner, killed)
        answers = bench.outcomes(test_id)
        thread.join(5)
        assert killed
        assert [answer.type for answer in answers] == [OutcomeType.MEASURED], answers
    finally:
        bench.run.close()
    lines = [json.loads(line) for line in (tmp_path / "r" / "trials.jsonl").read_text().splitlines()]
    broken = [line for line in lines if line["faults"]]
    assert broken, "the kill fell between repetitions"
    assert len({line["deployment"] for line in lines}) > 1
    assert labelled(row.place.token) == []
    assert (tmp_path / "r" / "report.html").is_file()


def test_a_client_program_that_is_absent_is_not_assessed_with_the_line_that_supplies_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiles, "load", lambda name, forms: tiny("native", requests=10))
    monkeypatch.setattr(ab, "PROGRAMS", {"no-such-program": "apache2-utils"})
    bench = made.opened(Settings(results=tmp_path, run_id="r"), {"HP-ONE-1"})
    try:
        (answer,) = bench.outcomes("HP-ONE-1")
    finally:
        bench.run.close()
    assert answer.type is OutcomeType.NOT_ASSESSED
    mend = bench.mends[answer.outcome_id]
    assert "apt-get install" in mend
    assert "apache2-utils" in mend


@pytest.mark.parametrize(
    ("form", "runtime", "undone"),
    [
        pytest.param("docker_routed", "crun", {"owner", "docker"}, marks=needs_docker),
        pytest.param("pod_bridge", "crun", {"owner", "pod", "cni"}, marks=needs_pods),
        pytest.param("pod_bridge", "docker", {"owner", "docker", "cni"}, marks=[needs_pods, needs_docker]),
        pytest.param("pod_host-device", "crun", {"owner", "pod", "cni"}, marks=needs_pods),
    ],
)
@pytest.mark.slow
def test_a_runner_that_is_killed_leaves_a_ledger_that_clears_all_away(
    tmp_path: Path, form: str, runtime: str, undone: set[str]
) -> None:
    code = f"""
        import os, signal, time
        from pathlib import Path
        from bmwg.drivers.nodes import process
        from bmwg.drivers.places.forms import hosting
        from bmwg.drivers.undo.ledger import Ledger
        from bmwg.drivers.testbed.file import load_testbed
        from bmwg.drivers.workload import squid
        from bmwg.drivers.workload.row import open_row
        from bmwg.resources.kinds.requests.deployment import start_serving
        folder = Path({str(tmp_path)!r})
        kept = Ledger(folder / "ledger.jsonl", index_dir=folder / "index")
        owner = f"killed-{{os.getpid()}}"
        kept.before("owner", owner=owner)
        given = {{"sizes_octets": [1000], "networks": load_testbed().networks, "runtime": {runtime!r}}}
        with process.owned(owner), open_row(folder, kept, owner, **given) as row:
            with hosting({form!r}, node=row.proxy, place=row.place, ledger=kept) as place:
                kept_alive = start_serving(row, place, squid.program(cache=False), 0, 30.0)
                (folder / "token").write_text(row.place.token)
                os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd="/", timeout=120, check=False, capture_output=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-2000:]
    token = (tmp_path / "token").read_text()
    pending = ledger.Ledger(tmp_path / "ledger.jsonl", index_dir=tmp_path / "index").pending
    assert {entry.kind for entry in pending} == undone
    assert ledger.cleanup(tmp_path, index_dir=tmp_path / "index") == []
    assert labelled(token) == []
    assert list(tmp_path.glob("docker-*")) == []
    assert [path for name in ("pods", "cni") for path in (tmp_path / name).glob("*")] == []
    assert [f for top in cgroups.folders("/") for f in top.iterdir() if token in f.name] == []


@pytest.mark.skipif(tools.k6() is None, reason="needs k6, which Go 1.20 builds: sh setup/install.sh http")
def test_a_rate_is_searched_recorded_and_found_again_from_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data: dict[str, Any] = json.loads(json.dumps(load_profile("quick").data))
    entry = next(e for e in data["experiments"] if e["id"] == "request_rate")
    entry["rate"] |= {"max_rps": 40, "duration_s": 1, "max_latency_ms": 2000}
    data |= {"experiments": [entry]}
    monkeypatch.setattr(profiles, "load", lambda name, forms: profiles.PROFILES.of(data))
    bench = made.opened(Settings(results=tmp_path, run_id="r"), {"HP-RATE-1"})
    try:
        (answer,) = bench.outcomes("HP-RATE-1")
    finally:
        bench.run.close()
    assert answer.type in (OutcomeType.AT_CEILING, OutcomeType.MEASURED), answer
    assert len(answer.trials) >= 2
    run = read_run(tmp_path / "r")
    (again,) = answers_of(run)
    rates = [value.number for value in answer.values]
    assert (again.outcome.type, again.values.get("lossless"), again.outcome.trials) == (
        answer.type,
        rates[0] if rates else None,
        answer.trials,
    )
