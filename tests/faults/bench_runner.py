"""Starts a run as `robot` does, on a plan of seconds: `python bench_runner.py PROFILE robot-arguments`.

The profile of a run stands in its header, so `bmwg resume` takes this one up without knowing it.
"""

import sys
from pathlib import Path

from robot.run import run_cli

from bmwg.methodology.profiles.reading import parse_profile
from bmwg.resources.run import narrowing

if __name__ == "__main__":
    source = Path(sys.argv[1])
    assert narrowing.load_profile  # else this would replace nothing
    text = source.read_text(encoding="utf-8")
    narrowing.load_profile = lambda name, **_: parse_profile(text, source=str(source))
    sys.exit(run_cli(sys.argv[2:], exit=False))
