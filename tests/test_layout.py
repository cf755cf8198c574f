"""The layout that everything else builds on: folders, links, papers, and the README's two lines."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINKED = ("drivers", "methodology", "reports", "resources", "schemas", "testbeds", "testcases")
MAX_LINES = 400  # choice: above it a module has two reasons to change


def tracked() -> list[Path]:
    """The repository's own files, new ones included."""
    if not (ROOT / ".git").exists():
        pytest.skip("no git checkout: which files are the project's is not known")
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=60
    ).stdout.splitlines()
    return [ROOT / name for name in names if (ROOT / name).exists()]


OTHERS = {  # attributes of objects that other people's libraries make
    "drivers/openstack/client.py": {"headers", "id"},
    "drivers/containers/docker_daemon.py": {"explanation"},
    "drivers/machines/libvirt_connection.py": {"found"},
    "drivers/kubernetes/client.py": {"body", "headers", "reason", "status"},
    "drivers/network/datapath.py": {"get"},
    "drivers/platform_record/collect.py": {"__name__"},
    "drivers/traffic/otg/driver.py": {"_version_meta"},
    "drivers/traffic/trex/channel.py": {"name"},
    "drivers/traffic/trex/session.py": {"conn", "rpc", "set_retry_base"},
}


def asked_by_name(source: str) -> set[str]:
    """Attributes that a module asks for by their names in a string."""
    calls = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.Call)]
    return {
        str(call.args[1].value)
        for call in calls
        if isinstance(call.func, ast.Name)
        and call.func.id in {"getattr", "hasattr"}
        and isinstance(call.args[1], ast.Constant)
    }


def test_what_a_driver_can_do_is_in_its_protocol_and_not_asked_for_by_a_string() -> None:
    assert asked_by_name('getattr(network, "own_router", False)\nhasattr(runtime, "service")') == {
        "own_router",
        "service",
    }
    found = {
        str(file.relative_to(ROOT)): asked
        for file in tracked()
        if file.suffix == ".py" and file.relative_to(ROOT).parts[0] in ("drivers", "resources")
        if (asked := asked_by_name(file.read_text(encoding="utf-8")))
    }
    assert found == OTHERS


NAMED_CALL = re.compile(r"""\.(?:call|inside)(?:_within\([^,]*,|\()\s*f?["'](?:bmwg|\{)""")


def test_node_functions_are_passed_and_not_named_in_a_string() -> None:
    assert NAMED_CALL.search('node.call(\n    "bmwg.drivers.nodes.links:up", interface="a")')
    assert NAMED_CALL.search('pod.inside_within(2.0, f"{LINKS}:up")')
    assert not NAMED_CALL.search("node.call(links.up)")
    found = [
        str(file.relative_to(ROOT))
        for file in tracked()
        if file.suffix == ".py" and file.name != "test_layout.py"
        if NAMED_CALL.search(file.read_text(encoding="utf-8"))
    ]
    assert found == []


def command_lines() -> list[str]:
    """The README's lines that set everything up."""
    lines = [line.strip() for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line.startswith("sh setup/install.sh")]


@pytest.mark.parametrize("name", LINKED)
def test_folder_is_linked_into_the_import_namespace(name: str) -> None:
    link = ROOT / "src" / "bmwg" / name
    assert link.is_symlink(), f"{link} is no symbolic link: was the checkout made without them?"
    assert os.readlink(link) == f"../../{name}"
    assert (ROOT / name / "__init__.py").is_file() or name in ("testbeds", "testcases")
    assert not (ROOT / name).is_symlink()


def test_every_folder_with_python_is_a_package() -> None:
    missing = {
        str(file.parent.relative_to(ROOT))
        for file in tracked()
        if file.suffix == ".py"
        and file.relative_to(ROOT).parts[0] in LINKED
        and not (file.parent / "__init__.py").exists()
    }
    assert missing == set()


def test_the_installed_package_is_this_checkout() -> None:
    code = "import bmwg.drivers.api.protocols as a; print(a.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).resolve() == ROOT / "drivers" / "api" / "protocols.py"


def test_no_module_is_a_store_room() -> None:
    names = {"utils", "util", "common", "helpers", "misc"}
    assert [str(file) for file in tracked() if file.suffix == ".py" and file.stem in names] == []


LOOSE = 10  # modules on the top floor of a folder; what more there are want a room that says what they are


@pytest.mark.parametrize("folder", ["drivers", "methodology", "reports", "resources", "schemas"])
def test_a_top_floor_has_few_loose_modules(folder: str) -> None:
    loose = [
        file.name
        for file in tracked()
        if file.parent == ROOT / folder and file.suffix in (".py", ".resource")
    ]
    loose.remove("__init__.py")
    assert len(loose) <= LOOSE


def test_modules_stay_short() -> None:
    long = {
        str(file.relative_to(ROOT)): count
        for file in tracked()
        if file.suffix in (".py", ".c", ".h", ".robot", ".resource") and not file.is_symlink()
        if file.relative_to(ROOT).parts[0] != "tests"
        if (count := len(file.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert long == {}


@pytest.mark.parametrize(
    "name", ["LICENSE", "README.md", "CONTRIBUTING.md", "GLOSSARY.md", "CHANGES.md", "docs/lab.md"]
)
def test_paper_is_there(name: str) -> None:
    assert len((ROOT / name).read_text(encoding="utf-8")) > 200


def test_readme_has_one_line_for_the_main_job_and_one_for_the_tests() -> None:
    lines = command_lines()
    assert len(lines) == 2
    assert lines[0].startswith("sh setup/install.sh &&")
    assert lines[1].startswith("sh setup/install.sh tests &&")


def test_ci_runs_the_line_of_the_readme() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    commands = [
        line
        for line in script.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith(("#", "set ", "cd "))
    ]
    assert commands == [command_lines()[1]]


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + extras["test"] + extras["lint"] + ["setuptools"]
    pinned = {
        re.sub(r"[-_.]+", "-", line.split("==")[0]).lower()
        for line in (ROOT / "setup" / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line and not line.startswith("#")
    }
    names = {re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", item)[0]).lower() for item in wanted}
    assert names - pinned == set(), "setup/constraints.txt: add what `pip freeze` says for these"


def test_links_between_the_papers_lead_somewhere() -> None:
    broken = []
    for paper in [file for file in tracked() if file.suffix == ".md"]:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", paper.read_text(encoding="utf-8")):
            if "://" not in target and not (paper.parent / target).exists():
                broken.append(f"{paper.relative_to(ROOT)}: {target}")
    assert broken == []
