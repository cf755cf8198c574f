"""Counts before a load: a request that a program counts late is of before, and no look is of the load."""

from __future__ import annotations

import pytest

from bmwg.resources.kinds.requests import measure


@pytest.mark.parametrize(
    ("told", "looks", "settled"),
    [
        ([10, 11, 99], True, 11),  # the second look differs by the first one alone
        ([10, 12, 13, 99], True, 13),  # a request of before was counted between them
        ([10, 10, 99], False, 10),
        ([10, 11, 11, 99], False, 11),
    ],
)
def test_what_is_counted_late_belongs_to_what_was_before(monkeypatch, told, looks, settled) -> None:
    monkeypatch.setattr(measure, "_SETTLES_S", 0.0)
    counts = iter(told)
    assert measure._settled(lambda: {"requests": next(counts)}, looks=looks) == {"requests": settled}


def test_what_tells_nothing_is_asked_once(monkeypatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(measure, "_SETTLES_S", 0.0)
    assert measure._settled(lambda: asked.append(1) or {}, looks=True) == {}
    assert asked == [1]
