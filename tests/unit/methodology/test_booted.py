"""What is booted or unpacked: numbers with what was counted, and a reason where there are none."""

from __future__ import annotations

import pytest

from bmwg.methodology.record import booted
from bmwg.methodology.record.booted import Booted, Counted

GUEST = Booted(
    parts={
        booted.KERNEL: {Counted.LENGTH: 40_000_000, Counted.ALLOCATED: 40_001_536},
        booted.INITRAMFS: {Counted.LENGTH: 3_000_001, Counted.ALLOCATED: 3_002_368},
    },
    besides="its root: this host's, over 9p",
)


def test_a_total_is_of_one_way_of_counting_and_of_all_parts() -> None:
    assert GUEST.total(Counted.LENGTH) == 43_000_001
    assert GUEST.total(Counted.ALLOCATED) == 43_003_904
    assert GUEST.total(Counted.UNPACKED) is None
    half = {**GUEST.parts, booted.DISK: {Counted.LENGTH: 5}}
    assert Booted(parts=half).total(Counted.LENGTH) == 43_000_006
    assert Booted(parts=half).total(Counted.ALLOCATED) is None, "a sum that lacks a part is no size"
    assert booted.NATIVE.total(Counted.LENGTH) is None


def test_a_record_says_in_words_what_each_of_its_numbers_is_and_is_read_back() -> None:
    told = GUEST.as_builtins()
    assert told["parts"]["kernel"] == {"length_octets": 40_000_000, "allocated_octets": 40_001_536}
    assert told["counted"] == {
        "length_octets": booted.WORDS[Counted.LENGTH],
        "allocated_octets": booted.WORDS[Counted.ALLOCATED],
    }
    assert Booted.from_builtins(told) == GUEST
    assert set(booted.WORDS) == set(Counted)
    assert len(set(booted.WORDS.values())) == len(Counted)


@pytest.mark.parametrize("place", [booted.NATIVE, booted.ROOT_OF_ITS_NODE])
def test_the_root_of_a_host_has_no_size_and_says_so(place) -> None:
    assert place.as_builtins()["parts"] == {}
    assert place.besides.startswith("none: the root of its ")


def test_what_says_nothing_or_counts_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing says why"):
        Booted()
    with pytest.raises(ValueError, match=r"kernel: length_octets is -1"):
        Booted(parts={booted.KERNEL: {Counted.LENGTH: -1}})
    told = GUEST.as_builtins()
    told["parts"]["kernel"]["virtual_octets"] = 1
    with pytest.raises(ValueError, match="virtual_octets"):
        Booted.from_builtins(told)
