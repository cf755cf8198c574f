"""What can be refused before Robot starts: one message, and nothing made.

Files, profile, drivers and the results folder are read as the run itself will read them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.errors import TestbedError
from bmwg.resources import rooms
from bmwg.resources.fleet import bound as fleets
from bmwg.resources.rooms import PlanAsked, Share
from bmwg.resources.run import challenged
from bmwg.resources.run.header import together
from bmwg.resources.run.platform import overlay_facts
from bmwg.resources.run.settings import Settings


def check(settings: Settings, selected: Collection[str]) -> None:
    """Refuse what the run of the selected tests would refuse; starts and makes nothing.

    Raises ConfigError for settings, testbed file, profile, overlay and tester, TestbedError RUN-04 for a
    results folder that cannot be written, RUN-06 where root is needed, and what `tester_of` raises.
    """
    taken = challenged.taken(settings)
    mark = fleets.taken(settings)
    load_testbed(settings.testbed)
    rooms.asked(selected)  # refuses a test that may be of a broken kind
    shares = {
        room.kind: room.share(settings, mine, None)
        for room in rooms.rooms()
        if (mine := room.tests(selected))
    }
    rooms.refuse_apart(shares)
    if taken is not None:
        challenged.bound(together({kind: share.header for kind, share in shares.items()}), taken)
    if mark is not None:
        fleets.bound(together({kind: share.header for kind, share in shares.items()}), mark)
    require_root(shares)
    if settings.overlay is not None:
        overlay_facts(settings.overlay)
    check_results(settings)


def require_root(shares: Mapping[str, Share]) -> None:
    """Raise TestbedError RUN-06 where something is measured on this machine and this user is not root.

    A simulated run needs no root: it makes nothing.
    """
    if os.geteuid() == 0 or all(share.header.simulated or share.elsewhere for share in shares.values()):
        return
    raise TestbedError(
        "RUN-06",
        "a run that measures on this machine; nothing was started",
        expected="root: it makes network namespaces, pods and interfaces of its own (docs/privileges.md)",
        found=f"user {os.geteuid()}",
        hint="begin the line with sudo; `--testbed testbeds/simulated.yaml` needs no root",
    )


def check_files(testbed: Path, profile: str, selected: Collection[str]) -> None:
    """Refuse what `bmwg plan` refuses of these files: for a run that another machine will have.

    Raises what the rooms' `schedule` raise. What this machine lacks is no matter.
    """
    asked = PlanAsked(testbed=testbed, profile=profile, seed=0)
    for room, mine in rooms.asked(selected).values():
        room.schedule(asked, mine)


def check_results(settings: Settings) -> None:
    """Raise TestbedError RUN-04 when no run folder can be made in the results folder; leaves nothing."""
    place = settings.results.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    try:  # a folder's mode says little: root may write where the file system takes nothing
        os.rmdir(tempfile.mkdtemp(prefix=".bmwg-", dir=place))
    except OSError as error:
        raise TestbedError(
            "RUN-04",
            f"results folder {settings.results}; nothing was started",
            expected=f"{place} to be a folder that can be written",
            found=error.strerror or str(error),
            hint="name another with --results or BMWG_RESULTS",
        ) from error
