"""Letters for readers that have ASCII only: units and numbers keep their meaning, nothing is dropped."""

from __future__ import annotations

_PLAIN = {
    "\u00a0": " ",
    "\u00b5": "u",  # micro
    "\u2014": "-",
    "\u2013": "-",
    "\u2026": "...",
    "\ufffd": "?",
    "\u00d7": "x",
    "\u00b1": "+/-",
}


def ascii_only(text: str) -> str:
    r"""Return the text in ASCII; a letter that has no plain form is written as `\u00e4`."""
    for letter, plain in _PLAIN.items():
        text = text.replace(letter, plain)
    return text.encode("ascii", "backslashreplace").decode("ascii")
