"""A run that takes a body's challenge: refused before it starts where it is not what the body asked for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bmwg.methodology.errors import ConfigError
from bmwg.reports.store import RunHeader
from bmwg.reports.store.codec import plan_sha256
from bmwg.resources.run.settings import Settings

if TYPE_CHECKING:
    from bmwg.reports.submissions.challenge import Challenge


def taken(settings: Settings) -> Challenge | None:
    """Return the challenge that the settings name.

    Raises ConfigError CHAL-03 where now is not within its window or another seed is set.
    """
    if settings.challenge is None:
        return None
    from bmwg.reports.submissions.challenge import challenge_of  # cryptography takes long to load

    challenge = challenge_of(settings.challenge)
    begin, end = challenge.window
    now = datetime.now(UTC)
    if not begin <= now <= end:
        raise _refused(
            settings, f"a run between {begin} and {end}", f"{now:%Y-%m-%d %H:%M:%S} UTC by this clock"
        )
    seed = challenge.told["order_seed"]
    if settings.order_seed not in (None, seed):
        raise _refused(settings, f"the order seed {seed}", f"BMWG_ORDER_SEED={settings.order_seed}")
    return challenge


def bound(header: RunHeader, challenge: Challenge) -> RunHeader:
    """Return the header with its challenge. Raises ConfigError CHAL-03 for another profile or plan."""
    for name, asked, is_ in (
        ("profile", challenge.told["profile"], header.profile["name"]),
        ("plan", challenge.told["plan_sha256"], plan_sha256(header.plan)),
    ):
        if asked != is_:
            raise ConfigError(
                "CHAL-03",
                f"the challenge asks for another {name}; nothing was started",
                expected=asked,
                found=is_,
                hint="`bmwg plan --hash` with the same suites, testbed and profile gives the plan's hash",
            )
    return replace(header, challenge_sha256=challenge.sha256)


def planned_sha256(settings: Settings, selected: Collection[str]) -> str:
    """Return the hash of what a run of the selected tests would plan."""
    from bmwg.resources import rooms

    shares = [room.share(settings, tests, None) for room, tests in rooms.asked(selected).values()]
    return plan_sha256(planned for share in shares for planned in share.header.plan)


def _refused(settings: Settings, expected: str, found: str) -> ConfigError:
    return ConfigError(
        "CHAL-03", f"challenge {settings.challenge}; nothing was started", expected=expected, found=found
    )
