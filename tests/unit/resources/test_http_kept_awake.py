"""A run of HTTP experiments holds CPUs awake from before its first record until after its closing one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.http import made

from bmwg.drivers.watch import awake
from bmwg.drivers.watch.awake import Awake
from bmwg.methodology.kinds.requests import profile as profiles
from bmwg.methodology.kinds.requests.profile import load
from bmwg.methodology.trial.keep_awake import Held, KeepAwake
from bmwg.resources.run import open_run
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.settings import Settings

REFUSED = "no such device here"


@pytest.fixture
def at_records(monkeypatch: pytest.MonkeyPatch) -> list[Held | None]:
    """What was held whenever the machine's record was taken."""
    found: list[Held | None] = []
    record = open_run.machine_record

    def seen(*about: Any) -> Mapping[str, Any]:
        found.append(awake.current())
        return record(*about)

    monkeypatch.setattr(open_run, "machine_record", seen)
    monkeypatch.setattr(awake, "maybe_translated", lambda source: False)
    monkeypatch.setattr(Awake, "_request", lambda self: REFUSED)
    return found


def of_profile(monkeypatch: pytest.MonkeyPatch, asked: KeepAwake) -> None:
    data = {**load("guest").data, "keep_awake": asked.value}
    monkeypatch.setattr(profiles, "load", lambda name, forms: profiles.PROFILES.of(data))


def opened(tmp_path: Path) -> OpenRun:
    return made.opened(Settings(profile="guest", results=tmp_path, run_id="r1"), set()).run


def test_both_records_are_taken_while_it_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_records: list[Held | None]
) -> None:
    of_profile(monkeypatch, KeepAwake.PM_QOS)
    opened(tmp_path).close()
    first, last = at_records
    assert first is not None
    assert first == last
    assert (first.asked, first.held, first.reason) == (KeepAwake.PM_QOS, KeepAwake.SPIN, REFUSED)
    assert awake.current() is None


@pytest.mark.parametrize(
    ("asked", "lines"), [(KeepAwake.PM_QOS, 1), (KeepAwake.SPIN, 0), (KeepAwake.NONE, 0)]
)
def test_a_line_is_told_only_when_another_thing_is_held(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    at_records: list[Held | None],
    asked: KeepAwake,
    lines: int,
) -> None:
    of_profile(monkeypatch, asked)
    told: list[str] = []
    monkeypatch.setattr(open_run.LineDisplay, "note", lambda self, text: told.append(text))
    opened(tmp_path).close()
    assert [held.asked for held in at_records if held] == [asked, asked]
    about = [line for line in told if "halt" in line]
    assert len(about) == lines
    assert [
        line for line in about if not (line.startswith("awake: on this machine CPUs") and REFUSED in line)
    ] == []


def test_a_run_that_does_not_open_holds_nothing_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_records: list[Held | None]
) -> None:
    of_profile(monkeypatch, KeepAwake.SPIN)
    monkeypatch.setattr(open_run, "record_guest", lambda store: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        opened(tmp_path)
    assert [held.asked for held in at_records if held] == [KeepAwake.SPIN]
    assert awake.current() is None
