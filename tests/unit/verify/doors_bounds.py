"""Lies that ask for more than a reader has or go around the files of a registry, and a list of all doors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import doors
import doors_registry
import honest
import liar
import replayable
from doors import Door, Where, told

from bmwg.cli.registry import examine
from bmwg.methodology.profiles.reading import load_profile
from bmwg.reports.bundle.signing import make_key
from bmwg.reports.registry import check
from bmwg.reports.submissions.names import slug

_GIT = ("-c", "user.name=t", "-c", "user.email=t@example.net", "-c", "commit.gpgsign=false")


def _committed(root: Path) -> None:
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "change")):
        subprocess.run(["git", "-C", str(root), *_GIT, *words], check=True, capture_output=True)


def hidden_by_attributes(where: Where) -> str:
    """Leave what is changed out of archives by attributes of the tree, then replace a key and a bundle."""
    place = doors_registry.handed_in(where, organization="Example Networks", signer=where.key)
    root = where.to / "registry"
    (root / ".gitattributes").write_text("published/** export-ignore\nkeys/** export-ignore\n")
    _committed(root)
    make_key(where.to / "other")
    shutil.copy(where.to / "other.pub", root / "keys" / "example-networks.pem")
    (place / "submission.bmwg.tar").write_bytes(b"another")
    said = told("registry", "check", root, "--against", "HEAD")
    return " ".join(name for name in ("REG-14", "REG-15", "REG-16") if name in said)


def key_of_a_numbered_name(where: Where) -> str:
    """Sign for an organization by the key of one that is called like it with a number behind."""
    make_key(where.to / "other")
    doors_registry.handed_in(where, organization="Example Networks", signer=where.to / "other")
    keys = where.to / "registry" / "keys"
    (keys / "example-networks.pem").rename(keys / f"{slug(f'Example Networks.{1 + where.seed}')}.pem")
    shutil.copy(where.key.with_name(f"{where.key.name}.pub"), keys / "example-networks.pem")
    return " ".join(one.rule_id for one in check(where.to / "registry", examine).findings)


def added_through_a_link(where: Where) -> str:
    """Have what is added to a registry written elsewhere."""
    root, elsewhere = where.to / "registry", where.to / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    (root / ("published", "keys")[where.seed % 2]).symlink_to(elsewhere)
    bundle = honest.submitted(where.place, "packets", where.to / "b.tar", where.key)
    readme = where.to / "README.md"
    readme.write_text("## Reproduce\n\nRun it.\n", encoding="ascii")
    pub = where.key.with_name(f"{where.key.name}.pub")
    said = told("registry", "add", root, "--bundle", bundle, "--readme", readme, "--key", pub)
    return said if not any(elsewhere.iterdir()) else ""


def pipe_for_a_file(where: Where) -> str:
    """Put a pipe that nobody writes to in place of a file of a run."""
    run = where.run("made")
    name = ("run.json", "platform.json", "trials.jsonl")[where.seed % 3]
    (run / name).unlink()
    os.mkfifo(run / name)
    return told("verify", run)


def millions_of_cells(where: Where) -> str:
    """Plan by a profile whose axes make more cells than can be counted."""
    data = json.loads(json.dumps(load_profile("quick").data))
    many = {f"networks.bridge.options.o{number}": list(range(40)) for number in range(6)}
    data["paths"] = [one | {"axes": many} for one in data["paths"] if one["path"] == "pvp"]
    path = where.to / "profile.yaml"
    path.write_text(json.dumps(data), encoding="ascii")  # JSON is YAML as well
    return told("plan", "--profile", path)


def numbers_without_end(where: Where) -> str:
    """Name a deployment by a number that no list has room for."""
    run = where.run("made")
    files = liar.read(run)
    first = next(iter(files.platform["deployments"]))
    far = f"{first}-{999_999_999 - where.seed}"
    files.platform["deployments"][far] = files.platform["deployments"].pop(first)
    for trial in files.trials:
        trial["deployment"] = far if trial["deployment"] == first else trial["deployment"]
    (run / "platform.json").write_text(json.dumps(files.platform), encoding="ascii")
    replayable.forge(run, files.run, files.trials)
    return told("verify", run)


def foreign_giant(where: Where) -> str:
    """Import a result with rates that add up to infinity, or with a list of thousands of entries."""
    values = [1e308, 1e308] if where.seed % 2 else [1.0] * 20_000
    rate = {"rate": {"unit": "pps", "values": values}}
    path = where.to / "foreign.json"
    path.write_text(
        json.dumps({"dut_type": "none", "tags": [], "result": {"type": "mrr", "receive_rate": rate}})
    )
    return told("import", path)


DOORS: tuple[Door, ...] = tuple(
    Door(name=attack.__name__, attack=attack, answer=answer)
    for attack, answer in (
        (doors.compared_with_edited_outcomes, "CMP-08"),
        (doors.compared_with_a_model, "CMP-04"),
        (doors.compared_unverified, "Not verified"),
        (doors.imported, "IMP-01"),
        (doors.unsigned, "consistent, signer unknown"),
        (doors.bundled_with_later_deviations, "BND-09"),
        (doors.checked_out_by_somebody_else, "the commit of this checkout"),
        (doors_registry.copycat, "REG-07"),
        (doors_registry.key_swapped, "REG-16"),
        (doors_registry.entry_replaced, "REG-14"),
        (doors_registry.order_changed, "REG-14"),
        (doors_registry.confusable, "REG-11"),
        (doors_registry.chinese, "listed"),
        (doors_registry.earlier_key, "listed"),
        (doors_registry.script_of_a_name, "cyrillic"),
        (doors.no_report, "required and not there: checked-report"),
        (doors_registry.unredacted, "REG-12"),
        (doors_registry.manifest_of_another_product, "REG-04"),
        (doors.readable_names, "hidden"),
        (doors_registry.page_of_the_registry, "REG-17"),
        (doors_registry.seven_entries, "REG-07"),
        (hidden_by_attributes, "REG-14 REG-15 REG-16"),
        (key_of_a_numbered_name, "REG-08"),
        (added_through_a_link, "REG-09"),
        (pipe_for_a_file, "STORE-02"),
        (millions_of_cells, "PRF-10"),
        (numbers_without_end, "question: deployments: number"),
        (foreign_giant, "IMP-03"),
    )
)
