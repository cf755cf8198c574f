"""The lines of `docs/lab.md` from ports to a resumed run, as the page has them, on hosts that are namespaces.

Names of hosts, ports, files and profile are this lab's in place of the page's; nothing else of a line
differs.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml
from tests.contract.frame_lab import GENERATOR, RUNNER, FrameLab, frame_lab
from tests.contract.lab_support import needs_sshd
from tests.contract.test_lab_frames import left, only_run
from tests.contract.test_tester_host import wait_for_trial

from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder

pytestmark = [pytest.mark.quiet, pytest.mark.root, needs_sshd]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "lab.md"
TWO, THREE, LOOK = "A tester and a device host", "The tester on a host of its own", "Look at it first"
PORTS = {  # of the page, and of GOOD in `frame_lab`
    "ens1f0": "eth1",
    "ens1f1": "eth2",
    "ens2f0": "eth3",
    "ens2f1": "eth4",
    "ens3f0": "eth5",
    "ens3f1": "eth6",
}


def line(section: str, beginning: str) -> str:
    """Return the command of a section, in a sentence or in a block, that begins so."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    commands = re.findall(r"`(bmwg [^`\n]+)`|^    (bmwg .+)$", text, re.MULTILINE)
    return next(one or other for one, other in commands if (one or other).startswith(beginning))


def words(lab: FrameLab, command: str, run: str = "") -> list[str]:
    """Return a command's words with this lab's names, without the first."""
    names = {
        **PORTS,
        "root@": "root@lab-",
        "/opt/bmwg/.venv/bin/python": str(lab.folder / "python"),
        "lab.yaml": str(lab.folder / "first.yaml"),
        "lab.svg": str(lab.folder / "lab.svg"),
        "--profile quick": f"--profile {lab.folder}/lab.yaml",  # answers as coarse as of other tests on hosts
        "RUN": run,
    }
    for theirs, mine in names.items():
        command = command.replace(theirs, mine)
    return shlex.split(command)[1:]


@pytest.mark.parametrize(
    ("tester", "first"), [(RUNNER, TWO), pytest.param(GENERATOR, THREE, marks=pytest.mark.slow)]
)
def test_a_newcomer_comes_from_ports_to_a_run_that_goes_on_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tester: str, first: str
) -> None:
    with frame_lab(tmp_path / "lab", tester=tester) as lab:
        monkeypatch.setenv("BMWG_RESULTS", str(lab.results))
        before = lab.listed()
        made = lab.bmwg(*words(lab, line(first, "bmwg lab init")))
        assert made.returncode == 0, made.stdout + made.stderr
        file = lab.folder / "first.yaml"
        data = yaml.safe_load(file.read_text())
        data["tester"]["cpus"], data["dut"]["cpus"] = [0], [1]  # looked over: here both are of one machine
        file.write_text(yaml.safe_dump(data, sort_keys=False))
        for section in (TWO, LOOK):
            checked = lab.bmwg(*words(lab, line(section, "bmwg lab check")))
            assert checked.returncode == 0, checked.stdout + checked.stderr
        drawn = lab.bmwg(*words(lab, line(LOOK, "bmwg lab sketch")))
        assert drawn.returncode == 0, drawn.stderr
        assert (lab.folder / "lab.svg").read_text().startswith("<svg")

        begun = lab.command(*words(lab, line(TWO, "bmwg run")))
        with subprocess.Popen(
            begun, env=lab.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as runner:
            wait_for_trial(lab, runner, "node/")
            runner.kill()
            runner.communicate()
        run = str(only_run(lab))
        lab.cable()  # a veth ends with the namespaces it was lent to; no NIC does
        cleaned = lab.bmwg(*words(lab, line(TWO, "bmwg cleanup"), run))
        assert cleaned.returncode == 0, cleaned.stdout + cleaned.stderr
        resumed = lab.bmwg(*words(lab, line(TWO, "bmwg resume"), run))
        assert "report:" in resumed.stdout, resumed.stdout + resumed.stderr
        assert read_run(Path(run)).status == "complete"
        assert not verify_folder(Path(run)).findings
        assert lab.listed() == before
        assert not left(lab)
