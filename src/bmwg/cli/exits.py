"""The exit statuses of the command, in one table: of `bmwg --help`, and of docs/errors.md."""

from __future__ import annotations

from bmwg.methodology.errors import (
    ConfigError,
    DriverError,
    TestbedError,
    ToolkitBug,
    ToolkitError,
    TrialInvalid,
)
from bmwg.methodology.trial import disturbed

FAILED, UNTOLD, INTERRUPTED = 1, 6, 130

STATUSES: dict[int, str] = {
    0: "done; nothing was found wrong",
    FAILED: "run: a test failed; compare, record --diff, sync --check: something differs;"
    " trend: something became worse; doctor, registry, validate-method: something was found",
    ConfigError.exit_code: "the command line or a file is wrong; nothing was started",
    TestbedError.exit_code: "the machine or the testbed does not allow it",
    TrialInvalid.exit_code: "verify, export --parquet, trend: figures of a run do not follow from its trials;"
    " or a trial's procedure failed",
    DriverError.exit_code: "a driver, or the program that it drives, misbehaved",
    UNTOLD: "verify: consistent, but nobody who is known signed; compare --reproduce: it cannot be told;"
    " trend: it cannot be told of a series, whose newest run gave no plain number",
    7: "verify: something that --require names is not shown",
    ToolkitBug.exit_code: "a bug of the toolkit",
    disturbed.EXIT_STATUS: "run: no test failed, but the machine was too busy for most answers; try again",
    141: "whoever read the output closed it",
    INTERRUPTED: "interrupted by Ctrl-C or by the loss of a host; a run goes on with bmwg resume",
}

SHARD_COMPLETE, SHARD_REFUSED, SHARD_TAKEN, SHARD_OPEN = 0, 64, 69, 75

SHARD: dict[int, str] = {  # of `bmwg fleet shard`: by it alone whoever hands shards out decides
    SHARD_COMPLETE: "the shard is complete, whatever its answers and verdicts are",
    SHARD_REFUSED: "refused: wrong file, plan, toolkit or testbed; another try ends the same way",
    SHARD_TAKEN: "another process works on this shard, or on this testbed; nothing was started",
    SHARD_OPEN: "not complete; it may be tried again",
}

_ROBOT_MOST_FAILED, _ROBOT_DATA, _ROBOT_STOPPED = 250, 252, 253  # Robot's own statuses: counts, then these


def of_robot(status: int) -> int:
    """Return our status for one of Robot Framework's, which counts failed tests up to 250."""
    if status == 0:
        return 0
    if status <= _ROBOT_MOST_FAILED:
        return FAILED
    others = {_ROBOT_DATA: ConfigError.exit_code, _ROBOT_STOPPED: INTERRUPTED}
    return others.get(status, ToolkitBug.exit_code)


def table() -> list[str]:
    """Return the table as lines of Markdown."""
    return [
        "| exit status | what it means |",
        "|---|---|",
        *(f"| {code} | {words} |" for code, words in sorted(STATUSES.items())),
        "",
        "`bmwg fleet shard` has statuses of its own, by which a scheduler can decide:",
        "",
        "| exit status | what it means |",
        "|---|---|",
        *(f"| {code} | {words} |" for code, words in sorted(SHARD.items())),
    ]


def epilog() -> str:
    """Return the table as plain lines."""
    return "exit statuses:\n" + "\n".join(f"  {code:>3}  {words}" for code, words in sorted(STATUSES.items()))


def of_shard(error: ToolkitError) -> int:
    """Return the status of a shard that an error kept from beginning or going on."""
    return SHARD_REFUSED if isinstance(error, ConfigError) else SHARD_OPEN
