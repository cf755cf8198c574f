"""The bench of one run: testbed, tester, journal and display, opened once and closed in reverse order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

from bmwg.drivers import record
from bmwg.drivers.api import Deployment, TrafficDriver
from bmwg.drivers.ledger import Ledger
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.testbed import Testbed, load_testbed
from bmwg.methodology.errors import ConfigError, ToolkitError
from bmwg.methodology.planning import PlannedCell, plan_cells
from bmwg.methodology.profiles import Profile, load_profile
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.reports.render import write_report
from bmwg.reports.store import RunHeader, RunStore
from bmwg.resources.measure import Measurement
from bmwg.resources.progress import LineDisplay, open_display
from bmwg.resources.settings import Settings
