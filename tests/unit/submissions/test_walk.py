"""The section `Before a body` of `docs/submitting.md`: a body, a vendor and a lab, each in a folder."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import parties
import pytest
import replayable

from bmwg.cli.main import main
from bmwg.reports.submissions.challenge import challenge_of

DOCUMENT = Path(__file__).parents[3] / "docs" / "submitting.md"
SECTION = "## Before a body"
WHO = ("Vendor", "Lab", "Body")
RUNS = {"Vendor": ("RUN", parties.VENDOR, 7), "Lab": ("SECOND", parties.LAB, 21)}
HANDED = {  # which files of a folder the others get, under which name
    "Vendor": {"vendor.key.pub": "", "submission.yaml": "vendor-", "*.jsonl": "", "vendor.bmwg.tar": ""},
    "Lab": {"lab.key.pub": "", "submission.yaml": "lab-", "*.jsonl": "", "lab.bmwg.tar": ""},
    "Body": {"challenge.json": "", "lab-challenge.json": ""},
}
_STATUS = re.compile(r"#\s*status (\d)")


def steps() -> list[tuple[str, str]]:
    """Return who does which line, in their order."""
    text = DOCUMENT.read_text("utf-8").split(SECTION)[1].split("\n## ")[0]
    found, who = [], ""
    for line in text.splitlines():
        name = line.partition(":")[0]
        who = name if name in WHO else who
        if line.startswith("    "):
            found.append((who, line.strip()))
    return found


def handed_over(folders: dict[str, Path]) -> None:
    for name, files in HANDED.items():
        for pattern, prefix in files.items():
            for path in folders[name].glob(pattern):
                for other in WHO:
                    if other != name and (other == "Body" or name == "Body"):
                        shutil.copy(path, folders[other] / f"{prefix}{path.name}")


def test_every_party_does_something() -> None:
    verbs = {(who, line.split()[1]) for who, line in steps()}
    assert verbs >= {
        ("Vendor", "run"),
        ("Vendor", "announce"),
        ("Lab", "bundle"),
        ("Body", "keys"),
        ("Body", "challenge"),
        ("Body", "registry"),
        ("Body", "compare"),
    }
    assert all(line.startswith("bmwg ") for _, line in steps())


def test_the_section_does_what_it_says(
    world: parties.World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = {name: tmp_path / name for name in WHO}
    for folder in folders.values():
        folder.mkdir()
    (folders["Body"] / "registry" / "published").mkdir(parents=True)
    (folders["Body"] / "README.md").write_text("# It\n\n## Reproduce\n\nRun it.\n", encoding="ascii")
    for who, (_, organization, _) in RUNS.items():
        (folders[who] / "submission.yaml").write_bytes(parties.submission_of(organization))
    said: list[str] = []
    for who, line in steps():
        handed_over(folders)
        monkeypatch.chdir(folders[who])
        words = shlex.split(line.replace("PLAN", parties.planned(world.place)), comments=True)
        words = [word.replace("RUN", "run-1").replace("SECOND", "run-2") for word in words]
        if words[1] == "plan":
            continue
        if words[1] == "run":
            _measure(world, who, Path(words[words.index("--challenge") + 1]))
            continue
        expected = int(found[1]) if (found := _STATUS.search(line)) else 0
        status = main(words[1:])
        told = capsys.readouterr()
        assert status == expected, f"{line}\n{told.out}\n{told.err}"
        said.append(told.out)
    registry = folders["Body"] / "registry"
    index = (registry / "index.html").read_text("utf-8")
    assert "reproduced" in index
    assert "None is known." in index  # every announced run has its bundle
    assert not [path for path in folders["Body"].rglob("*.key") if path.name != "body.key"]
    assert any(text.startswith("agrees: ") for text in said)


def _measure(world: parties.World, who: str, challenge: Path) -> None:
    """Make the run that takes a challenge, as `bmwg run` would."""
    placeholder, _, seed = RUNS[who]
    told = challenge_of(challenge)
    folder = replayable.make_run(
        Path("results"),
        {"RUN": "run-1", "SECOND": "run-2"}[placeholder],
        simulated=False,
        paths=parties.PATHS,
        order_seed=told.told["order_seed"],
        seed=seed,
        challenge_sha256=told.sha256,
    )
    shutil.copy(challenge, folder / "challenge.json")
