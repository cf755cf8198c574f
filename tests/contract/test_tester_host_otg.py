"""An OTG implementation beside the tester's host: it is asked from there, and counts as it does here."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from tests.contract.frame_lab import GENERATOR, FrameLab, frame_lab
from tests.contract.lab_support import needs_sshd
from tests.contract.test_tester_host import _nic, agents, beds
from tests.contract.traffic.test_otg_peer import MACS, Peer

from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.testbed.file import Testbed, parse_testbed
from bmwg.methodology.records import TrialSpec
from bmwg.resources.run.remote_tester import RemoteTraffic

pytestmark = [pytest.mark.root, needs_sshd]
PORT_NUMBER = 8443
SERVE = f"from {Peer.__module__} import Peer, ThreadingHTTPServer;"
SERVE += f"ThreadingHTTPServer(('127.0.0.1', {PORT_NUMBER}), Peer).serve_forever()"
ASK = f"import socket; socket.create_connection(('127.0.0.1', {PORT_NUMBER}))"


@contextmanager
def implementation(lab: FrameLab, bed: Bed) -> Iterator[Testbed]:
    """Run the one of OTG's own tests on the tester's host; gives the bed's file with driver otg."""
    options = {"location": f"http://127.0.0.1:{PORT_NUMBER}", "port_0": "eth1", "port_1": "eth2"}
    options |= dict(zip(("mac_0", "mac_1"), MACS, strict=True))
    tester = {**bed.testbed.data["tester"], "driver": "otg", "io": "pci", "options": options}
    enter = ["nsenter", f"--target={lab.machines[GENERATOR].pid}", "--net", sys.executable, "-c"]
    with subprocess.Popen([*enter, SERVE]) as peer:
        try:
            end_s = time.monotonic() + 60
            while subprocess.run([*enter, ASK], check=False, stderr=subprocess.DEVNULL).returncode:
                assert time.monotonic() < end_s
                assert peer.poll() is None
            yield parse_testbed(yaml.safe_dump({**bed.testbed.data, "tester": tester}), Path("lab.yaml"))
        finally:
            peer.kill()


def test_an_implementation_beside_the_testers_host_is_asked_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with frame_lab(tmp_path / "lab", tester=GENERATOR) as lab:
        monkeypatch.setenv("HOME", str(lab.folder))
        with (
            beds(lab, tmp_path) as (bed, _),
            implementation(lab, bed) as testbed,
            RemoteTraffic(testbed, bed, 0.05) as traffic,
        ):
            traffic.attach((_nic(0), _nic(1)))
            counts = traffic.run(TrialSpec(frame_octets=128, load_fps=1000, duration_s=0.2)).streams
            assert [(one.sent_frames, one.received_frames) for one in counts] == [(200, 180)]
            assert traffic.describe()["versions"]["implementation"] == "peer-1"
        assert agents() == []
