"""What can be refused before Robot starts: one message, and nothing made.

Files, profile, drivers and the results folder are read as the run itself will read them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection

from bmwg.drivers import registry
from bmwg.drivers.testbed import load_testbed
from bmwg.methodology import suites
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.http import profile as http_profile
from bmwg.methodology.profiles import load_profile
from bmwg.resources.http_proxy.header import of_testbed
from bmwg.resources.http_proxy.vms import vms_of_testbed
from bmwg.resources.platform import overlay_facts
from bmwg.resources.settings import Settings
from bmwg.resources.tester import require_networks, tester_of


def check(settings: Settings, selected: Collection[str]) -> None:
    """Refuse what the run of the selected tests would refuse; starts and makes nothing.

    Raises ConfigError for settings, testbed file, profile, overlay and tester, TestbedError RUN-04 for a
    results folder that cannot be written, and what `tester_of` raises.
    """
    testbed = load_testbed(settings.testbed)
    known = [test_id for test_id in selected if suites.case(test_id) is not None]
    if known:
        profile = load_profile(settings.profile, paths=registry.paths())
        tester_of(testbed, settings.results, profile.policy.drain_s)
        require_networks(testbed)
    if any(test_id.startswith(http_profile.TEST_IDS) for test_id in selected):
        networks = of_testbed(settings)
        plan = http_profile.load(settings.profile).with_networks(list(networks)).plan()
        vms_of_testbed(settings, {planned.cell.form for planned in plan if planned.test_id in selected})
    if settings.overlay is not None:
        overlay_facts(settings.overlay)
    check_results(settings)


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
