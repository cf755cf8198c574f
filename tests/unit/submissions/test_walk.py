"""The sections of `docs/submitting.md` on a body: it, a vendor, a lab and a witness, each in a folder."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import socket
import textwrap
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import identities
import parties
import pytest
import replayable
from authority import Authority, can_stamp

from bmwg.cli.main import main
from bmwg.reports.submissions.challenge import challenge_of

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "submitting.md"
SECTIONS = ("## Before a body", "## Witnesses, stamps, identities, and the end of a key")
WHO = ("Vendor", "Lab", "Body", "Witness")
RUNS = {"Vendor": ("RUN", parties.VENDOR, 7), "Lab": ("SECOND", parties.LAB, 21)}
HANDED = {  # which files of a folder the others get, under which name
    "Vendor": {
        "vendor.key.pub": "",
        "submission.yaml": "vendor-",
        "*.jsonl": "",
        "vendor.bmwg.tar": "",
        "stamped.bmwg.tar": "",
    },
    "Lab": {"lab.key.pub": "", "submission.yaml": "lab-", "*.jsonl": "", "lab.bmwg.tar": ""},
    "Body": {"challenge.json": "", "lab-challenge.json": ""},
    "Witness": {"witness.key.pub": "", "witnessed.bmwg.tar": "", "identified.bmwg.tar": ""},
}
SEEN = datetime(2026, 2, 1, tzinfo=UTC)  # when the witness's signature enters the log
_STATUS = re.compile(r"#\s*status (\d)")
_STAMPS = re.compile(r"q\.ts|stamped\.")
_PLAN = re.compile(r"[0-9a-f]{64}")


def section(title: str) -> str:
    """Return the text of a section."""
    return DOCUMENT.read_text("utf-8").split(title)[1].split("\n## ")[0]


def counters() -> str:
    """Return the file that a witness writes."""
    block = section(SECTIONS[1]).split("`counters.yaml` is what it writes:\n\n")[1].split("\n\n")[0]
    return textwrap.dedent(block) + "\n"


def steps() -> list[tuple[str, str]]:
    """Return who does which line, in their order."""
    text = "".join(section(title) for title in SECTIONS)
    text = text.replace(textwrap.indent(counters(), "    "), "")
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
                    if other != name and (other in ("Body", "Witness") or name == "Body"):
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
        ("Witness", "sign"),
        ("Vendor", "sign"),
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
    monkeypatch.setenv("BMWG_TESTBED", str(ROOT / "testbeds" / "simulated.yaml"))
    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, _reaches_out)
    monkeypatch.setattr(socket, "getaddrinfo", _reaches_out)
    (folders["Witness"] / "counters.yaml").write_text(counters(), encoding="ascii")
    stamps = tmp_path / "tsa" if can_stamp() else None
    authority = Authority(stamps) if stamps else None
    said: list[str] = []
    for who, line in steps():
        if _STAMPS.search(line) and authority is None:
            continue
        handed_over(folders)
        monkeypatch.chdir(folders[who])
        words = shlex.split(line.replace("PLAN", parties.planned(world.place)), comments=True)
        words = [word.replace("RUN", "run-1").replace("SECOND", "run-2") for word in words]
        if words[1] == "run":
            _measure(world, who, Path(words[words.index("--challenge") + 1]))
            continue
        expected = int(found[1]) if (found := _STATUS.search(line)) else 0
        if "identified.bmwg.tar --trust" in line and find_spec("sigstore") is None:
            expected = 7  # it is named as not judged, and counts for nothing
        status = main(words[1:])
        told = capsys.readouterr()
        assert status == expected, f"{line}\n{told.out}\n{told.err}"
        said.append(told.out)
        if "--ask" in words and authority is not None:
            authority.reply(Path("q.tsq"), Path("q.tsr"))
            (folders["Body"] / "registry" / "stamps").mkdir()
            shutil.copy(authority.root, folders["Body"] / "registry" / "stamps")
        if "--statement" in words:
            vouching = identities.Authority()
            signed = (Path("statement.json").read_bytes(), "seen@example.net", "https://issuer.example.net")
            Path("made.json").write_text(json.dumps(vouching.bundle(*signed, SEEN)), encoding="ascii")
            vouching.trusted_root(folders["Body"] / "registry" / "trusted_root.json")
    registry = folders["Body"] / "registry"
    index = (registry / "index.html").read_text("utf-8")
    assert "reproduced" in index
    assert "None is known." in index  # every announced run has its bundle
    assert not [path for path in folders["Body"].rglob("*.key") if path.name != "body.key"]
    assert any(text.startswith("agrees: ") for text in said)
    assert any(
        "counters: switch lab-sw1, Ethernet1/1, read by Third Witness (witness)" in text for text in said
    )
    assert authority is None or any(" by a stamp" in text for text in said)
    assert any(_PLAN.fullmatch(text.strip()) for text in said)  # what the vendor gives to the body


def _reaches_out(*words: object, **named: object) -> None:
    raise AssertionError("a network was asked")


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
