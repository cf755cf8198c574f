"""IMIX genome (RFC 6985): a sequence of frame sizes as letters, as run lengths, and as proportions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from bmwg.methodology.trial.trial_limits import MAX_FRAME_OCTETS, MIN_FRAME_OCTETS

SIZES = {  # SUP-6985-4-01; frame octets, FCS included
    "a": 64,
    "b": 128,
    "c": 256,
    "d": 512,
    "e": 1024,
    "f": 1280,
    "g": 1518,
    "h": 2112,
    "i": 9000,
    "j": 16000,
}
MTU_LETTER = "z"  # SUP-6985-4-02: its length is reported
_LONGEST = 1_000_000  # choice: frames of one sequence
_RUN = re.compile(r"([1-9][0-9]*)?([a-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imix:
    """A sequence of frame sizes (octets) that repeats, and the table that its letters come from."""

    letters: str
    table: tuple[tuple[str, int], ...]

    @property
    def sequence(self) -> tuple[int, ...]:
        """The frame sizes in order, octets."""
        table = dict(self.table)
        return tuple(table[letter] for letter in self.letters)

    @property
    def run_lengths(self) -> str:
        """The genome with run lengths (SUP-6985-6.1), such as `7a4d1g`."""
        return "".join(f"{len(list(group))}{letter}" for letter, group in groupby(self.letters))

    @property
    def proportions(self) -> tuple[tuple[int, Fraction], ...]:
        """Share (0..1) of each frame size, ascending (SUP-6985-6.2)."""
        counts = Counter(self.sequence)
        return tuple((size, Fraction(count, len(self.letters))) for size, count in sorted(counts.items()))

    @property
    def mean_octets(self) -> Fraction:
        """Average frame size, octets."""
        return Fraction(sum(self.sequence), len(self.letters))


def parse(genome: str, *, mtu_octets: int | None = None, custom: Mapping[str, int] | None = None) -> Imix:
    """Read a genome such as `aaafg` or `7a4d1g`; ValueError names letter and clause.

    `custom` gives upper-case letters sizes (SUP-6985-5); `mtu_octets` is the frame size of `z`.
    """
    table = dict(SIZES)
    if mtu_octets is not None:
        table[MTU_LETTER] = mtu_octets
    for letter, octets in (custom or {}).items():
        if not re.fullmatch("[A-Z]", letter):
            raise ValueError(f"custom letter {letter!r} (RFC 6985 5): expected one of A..Z")
        table[letter] = octets
    letters: list[str] = []
    position = 0
    while position < len(genome):
        match = _RUN.match(genome, position)
        if match is None:
            raise ValueError(f"genome {genome!r} (RFC 6985 4): expected a letter at {position}")
        count, letter = int(match[1] or 1), match[2]
        if letter not in table:
            hint = ": its MTU is not given (RFC 6985 4)" if letter == MTU_LETTER else " (RFC 6985 4)"
            raise ValueError(f"genome {genome!r}: letter {letter!r} has no frame size{hint}")
        if len(letters) + count > _LONGEST:
            raise ValueError(f"genome: expected at most {_LONGEST} frames")
        letters.extend(letter * count)
        position = match.end()
    if not letters:
        raise ValueError("genome (RFC 6985 4): expected at least one letter, found none")
    used = {letter: table[letter] for letter in dict.fromkeys(letters)}
    for letter, octets in used.items():
        if not MIN_FRAME_OCTETS <= octets <= MAX_FRAME_OCTETS:
            raise ValueError(
                f"letter {letter!r}: expected {MIN_FRAME_OCTETS}..{MAX_FRAME_OCTETS} octets, found {octets}"
            )
    return Imix(letters="".join(letters), table=tuple(sorted(used.items())))


def genome(sizes: Sequence[int], *, mtu_octets: int | None = None) -> Imix:
    """Name a sequence of frame sizes (octets); sizes without a letter get A, B, ... in order."""
    letters_of = {octets: letter for letter, octets in SIZES.items()}
    if mtu_octets is not None:
        letters_of.setdefault(mtu_octets, MTU_LETTER)
    custom: dict[str, int] = {}
    for octets in sizes:
        if octets not in letters_of:
            if len(custom) == 26:
                raise ValueError("sizes (RFC 6985 5): expected at most 26 without a letter of their own")
            letters_of[octets] = chr(ord("A") + len(custom))
            custom[letters_of[octets]] = octets
    return parse("".join(letters_of[octets] for octets in sizes), mtu_octets=mtu_octets, custom=custom)
