"""Where a run takes its settings from: environment variables, which `bmwg run` options set too."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.profiles.narrowed import Narrowing, from_words
from bmwg.schemas.validation import near_hint

_KNOWN = {
    "BMWG_TESTBED": "testbed file; without it the embedded testbed",
    "BMWG_PROFILE": "compliance profile, or a file ending with .yaml (default quick)",
    "BMWG_NETWORKS": "measure on these networks of the testbed alone, with commas between",
    "BMWG_PATHS": "measure on these paths alone, with commas between",
    "BMWG_FRAME_SIZES": "measure with these frame sizes alone (octets with FCS), with commas between",
    "BMWG_OVERLAY": "file of facts about the machine that a person declares",
    "BMWG_RESULTS": "folder of the runs (default ./results)",
    "BMWG_RUN": "a run to continue",
    "BMWG_RUN_ID": "id for the run that is about to start",
    "BMWG_OWNER": "label of what a run starts, set by the runner",
    "BMWG_ORDER_SEED": "number from which the order of options is drawn (default: one for each run)",
    "BMWG_CHALLENGE": "file of a body's challenge, from which the run takes its order",
    "BMWG_FLEET": "FILE:SHARD:ATTEMPT of a fleet whose shard the run is, set by `bmwg fleet shard`",
    "BMWG_CONSOLE": "lines (default: one a cell, and a heartbeat), live, or alone (lines without Robot's)",
    "BMWG_VERBOSE": "1: a line for each trial too",
    "BMWG_KUBERNETES": "folder with the programs of an embedded cluster, in place of what set-up built",
    "BMWG_FLANNEL": "folder with flannel's programs, in place of what set-up built",
    "BMWG_CILIUM": "folder with Cilium's programs, in place of what set-up built",
    "BMWG_NBENCH": "NBench's program, its NNET.DAT beside it",
    "BMWG_KEEP_CLUSTER_LOGS": "folder that keeps the logs of an embedded cluster's programs",
    "BMWG_PYTHON": "interpreter, read by setup/install.sh only",
    "BMWG_BIN": "folder of the commands, read by setup/install.sh only",
}
ROBOT_SILENT = ("live", "alone")  # what `bmwg run` shows is ours alone
CONSOLES = ("lines", *ROBOT_SILENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPart:
    """Which attempt at which shard of a fleet a run is; `file` has the plan."""

    file: Path
    shard: int
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the user chose for one run."""

    testbed: Path | None = None
    profile: str = "quick"
    overlay: Path | None = None
    results: Path = Path("results")
    continue_run: str | None = None
    run_id: str | None = None
    console: str = "lines"
    verbose: bool = False
    order_seed: int | None = None
    challenge: Path | None = None
    fleet: FleetPart | None = None
    narrowing: Narrowing = field(default_factory=Narrowing)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Read `BMWG_*`; an unknown one is a ConfigError, for a typo would change the run."""
        env = os.environ if environment is None else environment
        for name in sorted(env):
            if name.startswith("BMWG_") and name not in _KNOWN and not name.endswith("_DIR"):
                raise ConfigError(
                    "SET-01",
                    f"environment variable {name} is not known; nothing was started",
                    expected="one of " + ", ".join(sorted(_KNOWN)),
                    found=name,
                    hint=near_hint(name, _KNOWN, "unset it"),
                )
        console = env.get("BMWG_CONSOLE") or "lines"
        if console not in CONSOLES:
            raise ConfigError(
                "SET-02",
                "environment variable BMWG_CONSOLE",
                expected=" or ".join(CONSOLES),
                found=repr(console),
            )
        verbose = env.get("BMWG_VERBOSE") or "0"
        if verbose not in ("0", "1"):
            raise ConfigError(
                "SET-02", "environment variable BMWG_VERBOSE", expected="0 or 1", found=repr(verbose)
            )
        seed = env.get("BMWG_ORDER_SEED") or ""
        if seed and not (seed.isascii() and seed.isdigit() and int(seed) < 2**32):
            raise ConfigError(
                "SET-02",
                "environment variable BMWG_ORDER_SEED",
                expected=f"a number from 0 to {2**32 - 1}",
                found=repr(seed),
            )
        testbed, overlay = env.get("BMWG_TESTBED"), env.get("BMWG_OVERLAY")
        challenge = env.get("BMWG_CHALLENGE")
        return cls(
            testbed=Path(testbed) if testbed else None,
            profile=env.get("BMWG_PROFILE") or "quick",
            overlay=Path(overlay) if overlay else None,
            results=Path(env.get("BMWG_RESULTS") or "results"),
            continue_run=env.get("BMWG_RUN") or None,
            run_id=env.get("BMWG_RUN_ID") or None,
            console=console,
            verbose=verbose == "1",
            order_seed=int(seed) if seed else None,
            challenge=Path(challenge) if challenge else None,
            fleet=_fleet_part(env.get("BMWG_FLEET") or ""),
            narrowing=from_words(
                *(env.get(f"BMWG_{name}") or "" for name in ("NETWORKS", "PATHS", "FRAME_SIZES"))
            ),
        )

    def seed(self, recorded: int | None = None) -> int:
        """Return what a run's order is drawn from: the number recorded, else chosen, else a new one."""
        known = self.order_seed if recorded is None else recorded
        return secrets.randbelow(2**32) if known is None else known


def _fleet_part(said: str) -> FleetPart | None:
    if not said:
        return None
    file, *numbers = said.rsplit(":", 2)
    if len(numbers) != 2 or not all(
        number.isascii() and number.isdigit() and int(number) for number in numbers
    ):
        raise ConfigError(
            "SET-02",
            "environment variable BMWG_FLEET",
            expected="FILE:SHARD:ATTEMPT, numbers from 1",
            found=repr(said),
        )
    shard, attempt = map(int, numbers)
    return FleetPart(file=Path(file), shard=shard, attempt=attempt)
