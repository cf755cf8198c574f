"""What a clean system is made from: the package sources of the machine that makes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cold import cold

DEB822 = "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: {0} {0}-updates\nComponents: main\n"
RELEASE = 'PRETTY_NAME="{1}"\nID={2}\nVERSION_CODENAME={0}\n'


def machine(etc: Path, codename: str, distribution: str = "debian") -> Path:
    """Write what a machine's /etc says of its release and its package sources."""
    (etc / "apt" / "sources.list.d").mkdir(parents=True)
    (etc / "os-release").write_text(RELEASE.format(codename, distribution, distribution))
    (etc / "apt" / "sources.list.d" / f"{distribution}.sources").write_text(DEB822.format(codename))
    (etc / "apt" / "sources.list.d" / "vendor.sources").write_text("not one of Debian's")
    return etc


@pytest.mark.parametrize("here", ["bookworm", "trixie"])
@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_any_release_is_made_from_the_sources_of_any_other(tmp_path: Path, here: str, suite: str) -> None:
    (made,) = cold.sources_of(suite, tmp_path, machine(tmp_path / "etc", here))
    assert made.parent == tmp_path  # nothing is left beside a base that is kept
    assert made.read_text() == DEB822.format(suite)


def test_sources_of_one_line_each_are_taken_where_there_are_no_others(tmp_path: Path) -> None:
    etc = machine(tmp_path / "etc", "bookworm")
    (etc / "apt" / "sources.list.d" / "debian.sources").unlink()
    (etc / "apt" / "sources.list").write_text("deb http://deb.debian.org/debian bookworm main\n")
    (made,) = cold.sources_of("trixie", tmp_path, etc)
    assert made.read_text() == "deb http://deb.debian.org/debian trixie main\n"


def test_a_machine_without_sources_of_debian_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="this is ubuntu"):
        cold.sources_of("bookworm", tmp_path, machine(tmp_path / "etc", "noble", "ubuntu"))
    etc = machine(tmp_path / "bare", "bookworm")
    (etc / "apt" / "sources.list.d" / "debian.sources").unlink()
    with pytest.raises(SystemExit, match="package sources"):
        cold.sources_of("bookworm", tmp_path, etc)
