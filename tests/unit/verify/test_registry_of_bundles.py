"""A registry of real bundles: `add`, `check --against` a commit, and lies of organizations about runs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import honest
import liar
import pytest
import replayable

from bmwg.cli.main import main
from bmwg.cli.registry import examine
from bmwg.reports.bundle.make import folder_evidence, make_bundle, submission_data
from bmwg.reports.bundle.signing import load_private
from bmwg.reports.registry import check
from bmwg.reports.registry.check import place_of, published
from bmwg.reports.submissions.names import slug
from bmwg.schemas.validation import problems

pytestmark = pytest.mark.usefixtures("released")


def git(folder: Path, *words: str) -> None:
    settings = ("-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *settings, *words], check=True, capture_output=True)


@pytest.fixture(scope="session")
def redacted(place: Path, keys: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    return honest.submitted(place, "packets", folder / "redacted.bmwg.tar", keys["signer"])


def run(*words: object) -> int:
    return main(["registry", *map(str, words)])


def test_a_bundle_is_added_checked_and_never_changed(redacted, keys, tmp_path, capsys):
    root, readme = tmp_path / "registry", tmp_path / "README.md"
    root.mkdir()
    readme.write_text("# Forwarder\n\n## Reproduce\n\nRun it.\n", encoding="ascii")
    add = ("add", root, "--bundle", redacted, "--key", keys["signer.pub"], "--readme", readme)
    assert run(*add) == 0, capsys.readouterr().out
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    assert run("check", root, "--against", "HEAD") == 0
    capsys.readouterr()
    next(root.glob("published/*/*/*/README.md")).write_text("## Reproduce\n\nx\n", encoding="ascii")
    assert run("check", root) == 0
    assert run("check", root, "--against", "HEAD") == 1
    assert "REG-14" in capsys.readouterr().out
    assert run("check", root, "--against", "HEAD", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert not problems(document, "output")
    assert document["submissions"] == 1
    assert any(finding.startswith("REG-14") for finding in document["findings"])
    assert run("index", root, "--json") == 2
    (root / ".gitattributes").write_text(
        "published/** export-ignore\nkeys/** export-ignore\n", encoding="ascii"
    )
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "second")
    (root / "keys" / "example-networks.pem").write_bytes(keys["other.pub"].read_bytes())
    next(root.glob("published/*/*/*/README.md")).write_text("## Reproduce\n\ny\n", encoding="ascii")
    run("check", root, "--against", "HEAD")
    said = capsys.readouterr().out
    assert {"REG-14", "REG-15", "REG-16"} <= set(said.split())


@pytest.mark.parametrize("name", ["published", "keys", "accepted.txt"])
def test_nothing_is_added_through_a_link(redacted, keys, tmp_path, capsys, name):
    root, readme, elsewhere = tmp_path / "registry", tmp_path / "README.md", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    readme.write_text("## Reproduce\n\nRun it.\n", encoding="ascii")
    (root / name).symlink_to(elsewhere / "new" if name == "accepted.txt" else elsewhere)
    add = ("add", root, "--bundle", redacted, "--key", keys["signer.pub"], "--readme", readme)
    assert run(*add) == 2
    assert "REG-09" in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []


def test_what_cannot_be_added_whole_leaves_no_part(redacted, keys, tmp_path, capsys, monkeypatch):
    root, readme = tmp_path / "registry", tmp_path / "README.md"
    root.mkdir()
    add = ("add", root, "--bundle", redacted, "--key", keys["signer.pub"], "--readme", readme)
    assert run(*add) == 2
    assert "REG-09" in capsys.readouterr().err
    readme.write_text("## Reproduce\n\nRun it.\n", encoding="ascii")
    with monkeypatch.context() as full:
        full.setattr(shutil, "copyfile", _no_room)
        assert run(*add) == 3
    assert "STORE-08" in capsys.readouterr().err
    assert list(root.glob("published/*/*/*")) == []
    assert run(*add) == 0  # the place is still free


def _no_room(*_):
    raise OSError("no room")


def test_a_bundle_that_shows_the_machine_is_refused(place, keys, tmp_path, capsys):
    root, readme = tmp_path / "registry", tmp_path / "README.md"
    root.mkdir()
    readme.write_text("## Reproduce\n\nRun it.\n", encoding="ascii")
    shown = honest.submitted(place, "packets", tmp_path / "shown.tar", keys["signer"], salt=None)
    assert run("add", root, "--bundle", shown, "--key", keys["signer.pub"], "--readme", readme) == 1
    said = capsys.readouterr().out
    assert "REG-12" in said
    assert "REG-10" in said


ORGANIZATIONS = ("Example Networks", "Second Networks", "Third Networks", "Fourth Networks")


def submission_of(organization: str, number: int) -> bytes:
    return (
        f"schema: submission/1.0\norganization: {organization}\nproduct:\n  name: Forwarder {number}\n"
        '  version: "1.0"\ncontact: ["a@example.net"]\n'
    ).encode()


def test_one_journal_is_one_entry_whatever_it_is_called(copy_of, tmp_path, keys):
    """Seven bundles under four organizations, each its own run id, year and product, signed by its owner."""
    root, readme = tmp_path / "registry", tmp_path / "README.md"
    root.mkdir()
    readme.write_text("## Reproduce\n\nRun it.\n", encoding="ascii")
    folder = copy_of("ladder")
    for number in range(7):
        files = liar.read(folder)
        files.run["run_id"] = files.platform["run_id"] = f"run-{number}"
        for name in ("started_at", "ended_at"):
            files.run[name] = files.run[name].replace("2026-", f"20{26 + number}-")
        for trial in files.trials:
            trial["at"] = trial["at"].replace("2026-", f"20{26 + number}-")
            trial["result"]["wall_time_ns"] += number
        mine = tmp_path / str(number)
        mine.mkdir()
        (mine / "platform.json").write_text(json.dumps(files.platform), encoding="ascii")
        replayable.forge(mine, files.run, files.trials)
        submission = submission_of(ORGANIZATIONS[number % 4], number)
        bundle = make_bundle(
            mine,
            tmp_path / f"{number}.tar",
            evidence=folder_evidence(mine, submission_data(submission, "submission.yaml")),
            findings=[],
            submission_octets=submission,
            signer=load_private(keys["signer"]),
            salt=b"0123456789abcdef",
        )
        seen = examine(bundle, keys["signer.pub"])
        assert seen.findings == ()  # each of them verifies
        place = root / place_of(seen)
        place.mkdir(parents=True)
        bundle.rename(place / "submission.bmwg.tar")
        (place / "README.md").write_bytes(readme.read_bytes())
        (root / "keys").mkdir(exist_ok=True)
        shutil.copy(keys["signer.pub"], root / "keys" / f"{slug(ORGANIZATIONS[number % 4])}.pem")
        with (root / "accepted.txt").open("a", encoding="ascii") as file:
            file.write(f"{place_of(seen)}\n")
    checked = check(root, examine)
    first, *others = (root / "accepted.txt").read_text("ascii").split()
    assert {one.place for one in checked.findings if one.rule_id == "REG-07"} == set(others)
    assert [one.place for one in published(checked)] == [first]
