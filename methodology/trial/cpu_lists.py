"""Lists of CPU numbers as testbed files, profiles and the kernel write them. Pure."""

from __future__ import annotations

_MOST = 65536  # choice: far above what a kernel counts to


def cpu_list(text: str) -> tuple[int, ...]:
    """Read `2-3,6` into (2, 3, 6). Raises ValueError on a range that runs backwards, or what is no CPU."""
    numbers: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if high < low:
            raise ValueError(f"the range {part} runs backwards")
        if high >= _MOST:
            raise ValueError(f"no CPU list: {text[:60]!r}")
        numbers.update(range(low, high + 1))
    return tuple(sorted(numbers))
