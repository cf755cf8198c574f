"""`docs/lab.md`: each part of a file that it shows is one that can be read; each command is run by a test."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.cli.test_docs_commands import ROOT, commands, lines_of

from bmwg.drivers.testbed.file import embedded_file, load_testbed

PAGE = ROOT / "docs" / "lab.md"
BLOCKS = [
    (title, yaml.safe_load(block))
    for title, text in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S)
    for block in re.findall(r"(?:^    .*\n)+", text, re.M)
    if re.match(r"    (nodes|links):", block)
]
COLD = "tests/cold/cold.py"
LINES = "tests/contract/test_lab_page.py"
IMAGES = "tests/contract/image_support.py"
IN_GUEST = "tests/contract/test_in_guest.py"
BY_HAND = ""  # a test is skipped by name without it
RUN_BY = {  # the command without its values, and the test that runs it
    "bmwg run --testbed": LINES,
    "bmwg run --testbed --profile": LINES,
    "bmwg run --testbed --profile --test": LINES,
    "bmwg lab init --ports --dut --dut-ports --python": LINES,
    "bmwg lab init --tester --ports --dut --dut-ports --python": LINES,
    "bmwg lab check --testbed": LINES,
    "bmwg lab sketch --testbed --svg": LINES,
    "bmwg cleanup": LINES,
    "bmwg resume": LINES,
    "robot testcases/containerized/": "tests/robot/test_simulated_run.py",
    "robot testcases/http_proxy/": "tests/contract/test_lab_run.py",
    "bmwg cleanup --all": "tests/rehearsal/test_pci_ports.py",
    "bmwg run --in-guest --testbed --profile --test --test": "tests/rehearsal/test_pci_ports.py",
    "bmwg run --in-guest": IN_GUEST,
    "bmwg run testcases/http_proxy/00__pods.robot --in-guest": "tests/contract/test_http_in_guest.py",
    "tox -e": "tox.ini",
    "sh setup/install.sh tests": COLD,
    "sh setup/install.sh http": BY_HAND,
    "sh setup/install.sh libvirt": BY_HAND,
    "sh setup/guest.sh": BY_HAND,
    "sh setup/sriov.sh": BY_HAND,
    "python3 -m venv": COLD,
    "python -m pip": COLD,
    "python -m bmwg.drivers.traffic.embedded.build": "setup/install.sh",
    "echo": BY_HAND,
    "mmdebstrap": IMAGES,
    "mke2fs": IMAGES,
    "qemu-img": IMAGES,
}
PROGRAMS = {one.partition(" ")[0] for one in RUN_BY}


def verbs(words: list[str]) -> int:
    """Return how many words of a command say what is done."""
    return 3 if words[:2] == ["bmwg", "lab"] else 2


def shape(words: list[str]) -> str:
    """Return a command without what a reader fills in: its verbs, files of ours, modules and options."""
    if words[0] in ("echo", "mmdebstrap", "mke2fs", "qemu-img"):
        return words[0]
    if words[0].startswith("python"):
        return " ".join([words[0].rpartition("/")[2], *words[1:3]])
    kept = words[: verbs(words)] if words[0] == "bmwg" else words[:1]
    ours = [word for word in words[len(kept) :] if word.startswith(("testcases/", "setup/"))]
    words_of_set_up = words[2:] if words[0] == "sh" else []
    return " ".join([*kept, *ours, *words_of_set_up, *(word for word in words if word.startswith("-"))])


def found() -> set[str]:
    return {
        shape(words)
        for line in lines_of(PAGE)
        for words in commands(line)
        if words[0] in PROGRAMS
        and len(words) > (verbs(words) if words[0] == "bmwg" else 1)  # no mere mention
    }


def test_each_command_of_the_page_is_run_by_a_test_or_said_to_be_done_by_hand() -> None:
    assert found() == RUN_BY.keys()
    for file in filter(None, RUN_BY.values()):
        assert (ROOT / file).exists(), file


@pytest.mark.parametrize("at", range(len(BLOCKS)), ids=lambda at: f"{at}-{BLOCKS[at][0]}")
def test_each_part_of_a_file_loads_in_a_copy_of_the_embedded_one(at: int, tmp_path: Path) -> None:
    """Parts replace those of the copy; for the HTTP proxy nodes and links are beside them, as it says."""
    title, part = BLOCKS[at]
    data: dict[str, Any] = yaml.safe_load(embedded_file().read_text())
    if "roles" in part:
        part = {**part, "nodes": data["nodes"] | part["nodes"], "links": data["links"] + part["links"]}
    file = tmp_path / "lab.yaml"
    file.write_text(yaml.safe_dump(data | {"name": "lab"} | part, sort_keys=False))
    testbed = load_testbed(file)
    assert len(testbed.links) == len(part["links"]), title


def test_the_blocks_are_those_of_the_page() -> None:
    assert [title for title, _ in BLOCKS] == [
        "A tester and a device host",
        "The tester on a host of its own",
        "Three hosts for the HTTP proxy",
        "NICs on the PCI bus",
    ]


def test_a_command_is_known_by_its_options() -> None:
    assert (
        shape(shlex.split("bmwg lab init lab.yaml --ports a,b --dut root@c")) == "bmwg lab init --ports --dut"
    )
    assert shape(shlex.split("sh setup/install.sh http")) == "sh setup/install.sh http"
    assert shape(shlex.split("bmwg run --in-guest testcases/http_proxy/00__pods.robot")) == (
        "bmwg run testcases/http_proxy/00__pods.robot --in-guest"
    )
