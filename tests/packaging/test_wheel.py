"""The wheel holds every package and data file as a real file, and works without the checkout."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("drivers", "methodology", "reports", "resources", "schemas", "testbeds", "testcases")
WALK = """
import importlib, pkgutil, bmwg
names = [m.name for m in pkgutil.walk_packages(bmwg.__path__, "bmwg.") if not m.name.endswith("__main__")]
for name in names:
    importlib.import_module(name)
print(bmwg.__file__)
print(len(names))
from bmwg.drivers.testbed.file import load_testbed
print(load_testbed().file)
"""
POINTS = """
import importlib.metadata, sys
found = importlib.metadata.distribution("bmwg-toolkit")
print(found.locate_file("").resolve())
for point in found.entry_points:
    offered = point.load()
    if point.group in ("bmwg.kinds", "bmwg.reports", "bmwg.rooms"):
        fits = (offered.name if point.group == "bmwg.kinds" else offered.kind) == point.name
    elif point.group in ("bmwg.cases", "bmwg.measurements"):
        fits = isinstance(offered, tuple)
    else:
        fits = isinstance(offered.test_id, str) if point.group == "bmwg.acts" else callable(offered)
    if not fits:
        sys.exit(f"{point} is not what its group asks for")
    if not sys.modules[point.module].__file__.startswith(str(found.locate_file("").resolve())):
        sys.exit(f"{point} was loaded from elsewhere")
    print(point.group, point.name)
"""


def project_files() -> list[str]:
    """Tracked and new files, as paths from the root; links stay links."""
    if not (ROOT / ".git").exists():
        pytest.skip("no git checkout: which files are the project's is not known")
    command = ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(
        command, check=True, capture_output=True, text=True, timeout=60
    ).stdout.splitlines()
    return [name for name in names if os.path.lexists(ROOT / name)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source distribution, in a copy: a build in the checkout leaves a `build` folder."""
    copy = tmp_path_factory.mktemp("source")
    for name in project_files():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name, follow_symlinks=False)
    git = ["git", "-C", str(copy), "-c", "user.name=Test", "-c", "user.email=test@example.org"]
    for arguments in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "what is built"]):
        subprocess.run([*git, *arguments], check=True, capture_output=True, timeout=60)
    build = "import sys; from setuptools import build_meta as b; print(getattr(b, sys.argv[1])('dist'))"

    def run(kind: str, folder: Path) -> Path:
        done = subprocess.run(
            [sys.executable, "-c", build, kind],
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return folder / "dist" / done.stdout.splitlines()[-1]

    archive = run("build_sdist", copy)
    unpacked = tmp_path_factory.mktemp("sdist")
    shutil.unpack_archive(archive, unpacked)
    (folder,) = unpacked.iterdir()
    return run("build_wheel", folder)


def test_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    expected = {f"bmwg/{name}" for name in project_files() if name.split("/")[0] in FOLDERS}
    expected |= {
        name.removeprefix("src/")
        for name in project_files()
        if name.startswith("src/bmwg/") and not (ROOT / name).is_symlink()
    }
    expected.add("bmwg/commit.json")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("bmwg/")}
    assert expected - held == set(), "not in the wheel: name the pattern in [tool.setuptools.package-data]"
    assert held - expected == set(), "in the wheel, but no file of the project"


def test_wheel_holds_no_links_and_nothing_beside_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        links = [i.filename for i in archive.infolist() if stat.S_ISLNK(i.external_attr >> 16)]
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert links == []
    assert {top for top in tops if not top.endswith(".dist-info")} == {"bmwg"}


def run_installed(wheel: Path, folder: Path, code: str) -> list[str]:
    """Run `code` with the unpacked wheel before everything else, and return the lines that it prints."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd="/",
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


def test_wheel_imports_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    where, count, testbed = run_installed(wheel, tmp_path, WALK)
    assert Path(where) == tmp_path / "bmwg" / "__init__.py"
    assert int(count) > 20
    assert Path(testbed) == tmp_path / "bmwg" / "testbeds" / "embedded.yaml"


def test_entry_points_lead_to_what_they_name(wheel: Path, tmp_path: Path) -> None:
    lines = run_installed(wheel, tmp_path, POINTS)
    assert lines[0] == str(tmp_path)
    assert "console_scripts bmwg" in lines
    assert "bmwg.drivers.traffic embedded" in lines


def test_wheel_runs_its_own_suites_on_its_own_testbed_and_knows_its_commit(
    wheel: Path, tmp_path: Path
) -> None:
    package, work = tmp_path / "package", tmp_path / "work"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(package)
        noted = json.loads(archive.read("bmwg/commit.json"))
    work.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BMWG_")}
    environment |= {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    command = ["-m", "bmwg", "run", "testcases/rfc2544", "--test", "R2544-TPUT-3.1"]
    done = subprocess.run(
        [sys.executable, *command, "--testbed", "testbeds/simulated.yaml"],
        cwd=work,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = (work / "results").glob("*/run.json")
    toolkit = json.loads(file.read_text(encoding="utf-8"))["toolkit"]
    assert (toolkit["commit"], toolkit["dirty"]) == (noted["commit"], False)
