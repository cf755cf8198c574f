"""Errors by who can mend them: every message says what, where, expected, found, and one hint."""

from __future__ import annotations


class ToolkitError(Exception):
    """Base of every error that the toolkit raises on purpose.

    `error_id` is stable (`GROUP-NN`); `exit_code` is what the `bmwg` command returns.
    """

    ROBOT_SUPPRESS_NAME = True
    exit_code = 70

    def __init__(
        self, error_id: str, what: str, *, expected: str = "", found: str = "", hint: str = ""
    ) -> None:
        self.error_id = error_id
        self.what = what
        self.expected = expected
        self.found = found
        self.hint = hint
        lines = [f"{error_id}  {what}"]
        if expected or found:
            parts = [f"expected {expected}" if expected else "", f"found {found}" if found else ""]
            lines.append("          " + ", ".join(part for part in parts if part))
        if hint:
            lines.append(f"hint: {hint}")
        super().__init__("\n".join(lines))


class ConfigError(ToolkitError):
    """The user's file or option is wrong; nothing was started."""

    exit_code = 2


class TestbedError(ToolkitError):
    """The lab (machine, kernel, interface, plugin, permission) does not allow it."""

    __test__ = False  # not a pytest class
    exit_code = 3


class TrialInvalid(ToolkitError):
    """A trial's procedure failed; it is never a bound and may be repeated."""

    exit_code = 4


class DriverError(ToolkitError):
    """A driver or the program that it drives misbehaved (died, hung, answered nonsense)."""

    exit_code = 5


class ToolkitBug(ToolkitError):
    """A promise that the toolkit makes to itself is broken."""

    exit_code = 70
