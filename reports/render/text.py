"""Values as text of a report: numbers get their unit here, and a ratio becomes percent only here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

NONE = "—"  # a field that has no value
MAX_CHARACTERS = 1500  # choice: a longer text is cut, and shows it
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_RATE = re.compile(r"(?<![\d.,])\d{4,}(?=[ \u00a0][a-z]+/s\b)")  # a whole number before a rate's unit
_BREAKS = re.compile(r"[ \t\n\r\x0b\x0c\x1c-\x1f\x85\u2028\u2029]+")  # what any reader takes for a line's end


def plain(value: object) -> str:
    """Return a value as one line of text, control characters and lone surrogates replaced.

    Rates within sentences get the commas that they have in tables.
    """
    text = str(value).encode("utf-8", "replace").decode("utf-8")
    text = _CONTROL.sub("\ufffd", _BREAKS.sub(" ", text)).strip()
    if "/s" in text:
        text = _RATE.sub(lambda found: f"{int(found[0]):,}", text)
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"


def whole(number: float | int) -> str:
    """Return a number with commas between thousands, at most three decimals below 1000."""
    if isinstance(number, int) or float(number).is_integer() or abs(number) >= 1000:
        return f"{round(number):,}"
    if abs(number) < 1:
        return f"{number:.3g}"
    return f"{number:.3f}".rstrip("0").rstrip(".")


def number_of(count: int, noun: str) -> str:
    """Return a count with its noun, of which a plain `s` makes the plural."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def unit(number: float | int, name: str) -> str:
    """Return a number and its unit, not parted at a line's end."""
    return f"{whole(number)}\u00a0{name}"


def nanoseconds(number: float | int) -> str:
    """Return a time in the unit that reads best, three digits at least."""
    if number < 1_000:
        return unit(number, "ns")
    if number < 1_000_000:
        return f"{number / 1e3:.4g}\u00a0µs"
    return f"{number / 1e6:.4g}\u00a0ms" if number < 1_000_000_000 else f"{number / 1e9:.4g}\u00a0s"


def quantity_text(number: float | int, unit_name: str) -> str:
    """Return a number with its unit; times in the unit that reads best, ratios as percent."""
    if unit_name == "1":
        return percent(number)
    return nanoseconds(number) if unit_name == "ns" else unit(number, unit_name)


def percent(ratio: float, decimals: int = 3) -> str:
    """Return a ratio (0..1) as percent; a ratio above 0 never shows as 0, nor one below 1 as 100."""
    value = ratio * 100
    least = 10.0**-decimals
    if 0 < abs(value) < least:
        return f"< {least:g}\u00a0%" if value > 0 else f"> -{least:g}\u00a0%"
    text = f"{value:.{decimals}f}"
    if ratio < 1 and float(text) == 100:
        return f"> {100 - least:.{decimals}f}\u00a0%"
    return (text.rstrip("0").rstrip(".") if decimals else text) + "\u00a0%"


def sequence(numbers: Iterable[int]) -> str:
    """Return sequence numbers with runs drawn together: `3, 7-9`."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in parts) or NONE


def told_apart(ids: Sequence[str]) -> tuple[str, list[str]]:
    """Return what ids of cells have in common, and each without it, in their order.

    Parts stand between `/`; a part is common where every id has it at the same place. Of one id nothing is
    taken away, and of ids of which one would leave nothing the last common part stays.
    """
    parts = [one.split("/") for one in ids]
    shortest = min(map(len, parts), default=0)
    common = {place for place in range(shortest) if len({one[place] for one in parts}) == 1}
    if len(set(ids)) < 2:
        return "", list(ids)
    if len(common) == shortest:
        common.discard(shortest - 1)
    left = ["/".join(part for place, part in enumerate(one) if place not in common) for one in parts]
    return ", ".join(parts[0][place] for place in sorted(common)), left
