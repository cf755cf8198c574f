"""`python -m bmwg.cli.release` adds the checked-out commit to the list of releases (`reports/releases.json`).

Run it once a release, at the release's own commit and before the wheel is built. It needs a checkout in which
nothing was changed.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import asdict

from bmwg.methodology.answers import procedures
from bmwg.methodology.errors import ConfigError
from bmwg.reports.releases import FILE, Release, releases, shipped
from bmwg.resources.run.provenance import toolkit_state
from bmwg.schemas.formats import newest


def written() -> str:
    """Return the list with this release. Raises ConfigError REL-01 for a commit that can be none."""
    version, commit, dirty = toolkit_state()
    if commit is None or dirty is not False:
        raise _refusal("a checkout in which nothing was changed", "none" if commit is None else "changes")
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        raise _refusal("a version of numbers and dots alone, in src/bmwg/__init__.py", version)
    known = list(releases().values())
    if commit in releases() or version in {one.version for one in known}:
        raise _refusal("a commit and a version that are no release yet", f"{version}, commit {commit}")
    mine = Release(
        version=version,
        commit=commit,
        run=newest("run"),
        procedures=dict(procedures.CURRENT),
        profiles={name: sorted(hashes) for name, hashes in sorted(shipped().items())},
    )
    return json.dumps({"releases": [asdict(release) for release in (*known, mine)]}, indent=1) + "\n"


def _refusal(expected: str, found: str) -> ConfigError:
    return ConfigError("REL-01", "release; nothing was written", expected=expected, found=found)


def main() -> int:
    """Write the list."""
    FILE.write_text(written(), encoding="ascii")
    print(FILE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
