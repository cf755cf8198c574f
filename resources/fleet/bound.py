"""A run that is a shard of a fleet: refused before it starts where it is not what the plan says.

Ids: FLEET-04 another run than the plan's, FLEET-05 a testbed that lacks what the shard needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bmwg.methodology.errors import ConfigError, ToolkitError
from bmwg.reports.fleet.plan import Fleet, Shard, read_fleet
from bmwg.reports.store import RunHeader
from bmwg.reports.store.codec import plan_sha256
from bmwg.resources.fleet import leases
from bmwg.resources.fleet.planned import header_of, needs_of, profile_sha256, toolkit_of
from bmwg.resources.run.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Which attempt at which shard of a fleet a run is."""

    fleet: Fleet
    number: int
    attempt: int

    @property
    def shard(self) -> Shard:
        """The shard."""
        return self.fleet.shard(self.number)


def taken(settings: Settings) -> Mark | None:
    """Return which shard the settings name. Raises ConfigError FLEET-01, FLEET-02, FLEET-04."""
    if settings.fleet is None:
        return None
    mark = Mark(
        fleet=read_fleet(settings.fleet.file), number=settings.fleet.shard, attempt=settings.fleet.attempt
    )
    fleet = mark.fleet
    fleet.shard(mark.number)
    if settings.challenge is not None:
        raise _refused(mark, "challenge", "none: a body challenges one run", str(settings.challenge))
    return mark


def bound(header: RunHeader, mark: Mark) -> RunHeader:
    """Return the header of a shard's run. Raises ConfigError FLEET-04, FLEET-05 where it is another run."""
    fleet, shard = mark.fleet, mark.shard
    for name, asked, found in (
        ("toolkit", fleet.toolkit, toolkit_of(header)),
        ("order seed", fleet.order_seed, header.order_seed),
        ("profile", fleet.profile_sha256, profile_sha256(header)),
    ):
        if asked != found:
            raise _refused(mark, name, str(asked), str(found))
    needs = needs_of(header)
    for name in ("simulated", "medium", "paths", "networks"):
        if shard.needs[name] != needs[name]:
            raise ConfigError(
                "FLEET-05",
                f"shard {mark.number} of fleet {fleet.sha256[:12]}: {name}; nothing was started",
                expected=str(shard.needs[name]),
                found=str(needs[name]),
                hint="take a testbed like the one of the plan",
            )
    if shard.plan_sha256 != (planned := plan_sha256(header.plan)):
        raise _refused(mark, "plan", shard.plan_sha256, planned)
    return replace(header, fleet=fleet.mark(mark.number, mark.attempt) | leases.mark())


def refusal(settings: Settings) -> ToolkitError | None:
    """Return why these settings cannot have their shard; None where they can. Starts nothing."""
    try:
        mark = taken(settings)
        if mark is not None:
            bound(header_of(settings, mark.shard.selected), mark)
    except ToolkitError as error:
        return error
    return None


def variables(fleet: Fleet, file: Path, number: int, attempt: int, testbed: Path) -> dict[str, str]:
    """Return the settings of a shard's run as variables of the environment."""
    narrowing = {
        "BMWG_NETWORKS": fleet.narrowing.get("networks", []),
        "BMWG_PATHS": fleet.narrowing.get("paths", []),
        "BMWG_FRAME_SIZES": fleet.narrowing.get("frame_octets", []),
    }
    return {
        "BMWG_FLEET": f"{file}:{number}:{attempt}",
        "BMWG_ORDER_SEED": str(fleet.order_seed),
        "BMWG_PROFILE": fleet.profile,
        "BMWG_TESTBED": str(testbed),
        **{name: ",".join(map(str, values)) for name, values in narrowing.items() if values},
    }


def _refused(mark: Mark, name: str, expected: str, found: str) -> ConfigError:
    return ConfigError(
        "FLEET-04",
        f"shard {mark.number} of fleet {mark.fleet.sha256[:12]}: another {name}; nothing was started",
        expected=expected,
        found=found,
        hint="use toolkit and files of the plan, or make a new plan",
    )
