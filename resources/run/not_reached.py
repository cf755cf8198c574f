"""A listener of Robot Framework: a test that a signal cut off or did not let begin has not failed.

Robot calls such tests failed. `bmwg run` and `resume` name this module, which then hears of every suite.
"""

from __future__ import annotations

from typing import Any

ROBOT_LISTENER_API_VERSION = 3
_BY_SIGNAL = "Execution terminated by signal"  # Robot's words for the test that was running
_NEVER_BEGAN = "Test execution stopped due to a fatal error"  # and for each test after it


def end_test(data: Any, result: Any) -> None:
    """Say of a test that was stopped that it was skipped, and why."""
    if not result.failed:
        return
    if result.message.startswith(_BY_SIGNAL):
        result.status, result.message = "SKIP", "interrupted before it had all its answers"
    elif result.message.startswith(_NEVER_BEGAN):
        result.status, result.message = "SKIP", "not reached: the run was interrupted"
