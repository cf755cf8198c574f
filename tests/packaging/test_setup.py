"""The set-up script: a second run changes nothing, foreign commands stay, and failures name their mend."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "setup" / "install.sh"
NOBODY = 65534


def run(script: Path, *arguments: str, user: int | None = None, **environment: str) -> tuple[int, str]:
    """Exit status and output of the script."""
    done = subprocess.run(
        ["sh", str(script), *arguments],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        user=user,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout


@pytest.fixture
def set_up() -> None:
    if not (ROOT / ".venv" / "bmwg-setup").exists() or (ROOT / ".venv").is_symlink():
        pytest.skip("this checkout has no .venv of its own that setup/install.sh made")


@pytest.mark.usefixtures("set_up")
def test_second_run_installs_nothing(tmp_path: Path) -> None:
    run(SCRIPT, SETUP_BIN=str(tmp_path))
    before = (ROOT / ".venv" / "bmwg-setup").stat().st_mtime_ns
    status, output = run(SCRIPT, SETUP_BIN=str(tmp_path))
    assert status == 0, output
    assert "are there" in output
    assert "is up to date" in output
    assert (ROOT / ".venv" / "bmwg-setup").stat().st_mtime_ns == before
    assert (tmp_path / "robot").readlink() == ROOT / ".venv" / "bin" / "robot"


@pytest.mark.usefixtures("set_up")
def test_a_command_of_somebody_else_stays(tmp_path: Path) -> None:
    (tmp_path / "robot").write_text("another robot\n")
    (tmp_path / "bmwg").symlink_to("/elsewhere/bin/bmwg")
    status, output = run(SCRIPT, SETUP_BIN=str(tmp_path))
    assert status == 0, output
    assert output.count("is not ours and stays as it is") == 2
    assert (tmp_path / "robot").read_text() == "another robot\n"
    assert (tmp_path / "bmwg").readlink() == Path("/elsewhere/bin/bmwg")


@pytest.mark.usefixtures("set_up")
def test_a_link_into_a_removed_checkout_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "bmwg").symlink_to(tmp_path / "old-checkout" / ".venv" / "bin" / "bmwg")
    status, output = run(SCRIPT, SETUP_BIN=str(tmp_path))
    assert status == 0, output
    assert "pointed into another checkout" in output
    assert (tmp_path / "bmwg").readlink() == ROOT / ".venv" / "bin" / "bmwg"


def test_an_unknown_argument_is_refused() -> None:
    status, output = run(SCRIPT, "test")
    assert status == 2
    assert "unknown word 'test'" in output


def test_help_says_what_each_word_adds() -> None:
    status, output = run(SCRIPT, "--help")
    assert status == 0
    for word in (
        "tests",
        "vswitch",
        "workloads",
        "guest",
        "http",
        "libvirt",
        "kubernetes",
        "cilium",
        "openstack",
        "--undo",
    ):
        assert f" {word} " in output
    assert "#!" not in output
    assert "set -eu" not in output


def test_several_words_are_taken_and_a_wrong_one_among_them_is_named() -> None:
    status, output = run(SCRIPT, "http", "workload")
    assert status == 2
    assert "unknown word 'workload'" in output
    assert "workloads" in output


def test_undo_takes_away_what_the_set_up_made_and_nothing_else(tmp_path: Path) -> None:
    here = tmp_path / "checkout"
    (here / "setup").mkdir(parents=True)
    shutil.copy(SCRIPT, here / "setup")
    for folder in (".venv/bin", ".cache", "results/a"):
        (here / folder).mkdir(parents=True)
    (here / ".cache" / "setup-packages").write_text("gcc\nmake\ngcc\n")
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "bmwg").symlink_to(here / ".venv/bin/bmwg")
    (bin_ / "robot").symlink_to("/elsewhere/robot")
    status, output = run(here / "setup" / "install.sh", "--undo", SETUP_BIN=str(bin_))
    assert status == 0, output
    assert "apt-get remove gcc make" in output
    assert sorted(one.name for one in here.iterdir()) == ["results", "setup"]
    assert [one.name for one in bin_.iterdir()] == ["robot"]
    assert run(here / "setup" / "install.sh", "--undo", "tests", SETUP_BIN=str(bin_))[0] == 2


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The script in a checkout of its own that wants a package which does not exist."""
    shutil.copytree(ROOT / "setup", tmp_path / "setup")
    (tmp_path / "setup" / "debian-packages.txt").write_text("# one\nno-such-package-of-bmwg\n")
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:  # with several processes there is one folder more
        if parent.name.startswith(("popen-", "pytest-")):
            parent.chmod(0o755)
    return tmp_path / "setup" / "install.sh"


def test_without_root_the_missing_package_is_named_with_its_mend(copy: Path) -> None:
    if shutil.which("dpkg-query") is None:
        pytest.skip("no dpkg-query: not a Debian system")
    user = NOBODY if os.geteuid() == 0 else None
    status, output = run(copy, user=user)
    assert status == 1, output
    assert "not root, and these packages are missing: no-such-package-of-bmwg" in output
    assert "hint: as root: apt-get install" in output


def test_libvirt_is_wanted_only_by_who_asks_for_it(copy: Path) -> None:
    if shutil.which("dpkg-query") is None:
        pytest.skip("no dpkg-query: not a Debian system")
    copy.with_name("debian-packages-libvirt.txt").write_text("no-such-libvirt-of-bmwg\n")
    user = NOBODY if os.geteuid() == 0 else None
    for mode, wanted in (("http", False), ("libvirt", True)):
        status, output = run(copy, mode, user=user)
        assert status == 1, output
        assert ("no-such-libvirt-of-bmwg" in output) is wanted


def test_the_tests_want_the_packages_of_every_suite_that_they_run(copy: Path) -> None:
    if shutil.which("dpkg-query") is None:
        pytest.skip("no dpkg-query: not a Debian system")
    lists = ("test", "http", "vm", "vswitch", "workloads")
    for name in lists:
        copy.with_name(f"debian-packages-{name}.txt").write_text(f"no-such-{name}-of-bmwg  # twice\nbash\n")
    status, output = run(copy, "tests", user=NOBODY if os.geteuid() == 0 else None)
    assert status == 1, output
    wanted = output.split("these packages are missing: ")[1].splitlines()[0].split()
    assert wanted == sorted(["no-such-package-of-bmwg", *(f"no-such-{name}-of-bmwg" for name in lists)])


@pytest.mark.parametrize(
    ("words", "said"), [(("riscv64",), "'riscv64'"), (("arm64", "amd64"), "more than one")]
)
def test_guests_of_an_unknown_architecture_are_refused(words: tuple[str, ...], said: str) -> None:
    if shutil.which("dpkg") is None:
        pytest.skip("no dpkg: not a Debian system")
    status, output = run(ROOT / "setup" / "guest.sh", *words)
    assert status == 1, output
    assert said in output
    assert "amd64 or arm64" in output


def test_an_interpreter_that_is_too_old_is_refused(copy: Path, tmp_path: Path) -> None:
    if shutil.which("dpkg-query") is None:
        pytest.skip("no dpkg-query: not a Debian system")
    (tmp_path / "setup" / "debian-packages.txt").write_text("")
    (tmp_path / "pyproject.toml").write_text("")
    old = tmp_path / "old-python"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    status, output = run(copy, SETUP_PYTHON=str(old))
    assert status == 1, output
    assert f"SETUP_PYTHON={old} is no Python 3.11 or later" in output
    assert not (tmp_path / ".venv").exists()


MVN = """#!/bin/sh
echo fetched >>"$FETCHES"
mkdir "$FETCHES.busy" || exit 1  # another is under way
sleep 1
for word; do case $word in -DoutputDirectory=*) lib=${word#*=} ;; esac; done
mkdir -p "$lib/made/bin" && echo made >"$lib/made/bin/jmeter"
cd "$lib/made" && python3 -m zipfile -c "$lib/ApacheJMeter_config-5.6.3.jar" bin
cp "$lib/ApacheJMeter_config-5.6.3.jar" "$lib/ApacheJMeter-5.6.3.jar" && rm -r "$lib/made"
rmdir "$FETCHES.busy"
"""
GO = """#!/bin/sh
echo k6 >"$GOBIN/k6" && chmod +x "$GOBIN/k6"
"""


def test_two_at_once_fetch_the_http_tools_once(tmp_path: Path) -> None:
    programs, tools, fetches = tmp_path / "programs", tmp_path / "tools", tmp_path / "fetches"
    programs.mkdir()
    for name, text in (("mvn", MVN), ("go", GO)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:/usr/bin:/bin", "FETCHES": str(fetches)}
    both = [
        subprocess.Popen(
            ["sh", str(ROOT / "setup" / "http-tools.sh"), str(tools)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(2)
    ]
    said = [one.communicate(timeout=60)[0] for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    assert fetches.read_text().splitlines() == ["fetched"]
    assert (tools / "jmeter-5.6.3" / "bin" / "ApacheJMeter.jar").is_file()
    assert (tools / "jmeter-5.6.3" / "bin" / "jmeter").read_text() == "made\n"
    assert (tools / "k6-0.49.0" / "k6").is_file()
