"""Which tests a command line names: suites, ids and tags, read as Robot Framework will read them.

Ids: RUN-01 no such suite, RUN-02 Robot cannot read it, RUN-03 nothing is selected, or nothing by one of the
ids and tags.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from robot.api import TestSuite
from robot.errors import DataError
from robot.model import TagPatterns

import bmwg
from bmwg.methodology import suites as cases
from bmwg.methodology.errors import ConfigError
from bmwg.schemas.validation import near_name

DEFAULT_SUITES = ("testcases/containerized",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `bmwg run` and `bmwg plan` take to say which tests are meant."""
    parser.add_argument("suites", nargs="*", type=Path, help="suites (default: testcases/containerized)")
    parser.add_argument(
        "--test", action="append", default=[], metavar="ID", help="only tests with this id: tag"
    )
    parser.add_argument(
        "--tag",
        action="append",
        default=[],
        metavar="TAG",
        help="only tests with this tag, in Robot's pattern language (clause:*26.1); adds to --test",
    )


def add_narrowing(parser: argparse.ArgumentParser) -> None:
    """Add what narrows the plan of frames to a part of it."""
    for name, what in (
        ("network", "measure on this network of the testbed alone; may be given again"),
        ("path", "measure on this path alone (bmwg list paths); may be given again"),
        ("frame-size", "measure with this frame size alone, octets with FCS; may be given again"),
    ):
        parser.add_argument(f"--{name}", action="append", default=[], help=what, metavar="VALUE")


def narrowing(chosen: argparse.Namespace) -> dict[str, str]:
    """Return what narrows the plan as the variables in which a run reads its settings."""
    named = (
        ("BMWG_NETWORKS", chosen.network),
        ("BMWG_PATHS", chosen.path),
        ("BMWG_FRAME_SIZES", chosen.frame_size),
    )
    return {name: ",".join(values) for name, values in named if values}


def options(chosen: argparse.Namespace) -> list[str]:
    """Return what says which tests are meant and what narrows them, as options of another command line."""
    named = (
        ("--test", chosen.test),
        ("--tag", chosen.tag),
        ("--network", chosen.network),
        ("--path", chosen.path),
        ("--frame-size", chosen.frame_size),
    )
    return [word for name, values in named for value in values for word in (name, value)]


def included(chosen: argparse.Namespace) -> list[str]:
    """Return the tags that select a test, one of them is enough; empty for all tests."""
    return [f"id:{test_id}" for test_id in chosen.test] + list(chosen.tag)


def suites_of(chosen: argparse.Namespace) -> list[Path]:
    """Return the suites that were named, or the default's. Raises ConfigError RUN-01."""
    named = chosen.suites or DEFAULT_SUITES
    suites = [found(str(suite)) for suite in named]
    for suite in suites:
        if not suite.exists():
            raise ConfigError(
                "RUN-01",
                f"suite {suite}; nothing was started",
                expected="a file or folder",
                found=str(suite),
                hint=_near(suite),
            )
    return suites


def selected(suites: Sequence[Path], tags: Sequence[str], *, each: bool = True) -> frozenset[str]:
    """Return the ids of the tests that would run; with `each`, every tag has to select one.

    Raises ConfigError RUN-02, RUN-03.
    """
    try:
        root = TestSuite.from_file_system(*suites)
    except DataError as error:
        raise ConfigError(
            "RUN-02", "suites that Robot cannot read; nothing was started", found=str(error)
        ) from error
    if not root.test_count:
        raise _none_selected(suites, "suites without a test", "name a suite that has tests")
    for tag in tags if each else ():
        if not any(TagPatterns(tag).match(test.tags) for test in root.all_tests):
            raise _none_selected(suites, tag, _near_id(tag, _ids(root)))
    if tags:
        root.filter(included_tags=list(tags))
    return frozenset(_ids(root))


def _none_selected(named: Sequence[Path], found: str, hint: str) -> ConfigError:
    return ConfigError(
        "RUN-03",
        f"no test is selected by {found}; nothing was started",
        expected="tests of " + ", ".join(map(str, named)),
        found=found,
        hint=hint,
    )


def _near_id(tag: str, every: Sequence[str]) -> str:
    test_id = tag.removeprefix("id:")
    if (case := cases.case(test_id)) is not None:
        return f"it is a test of suite {case.suite}"
    near = near_name(test_id, every) if test_id != tag else None
    return f"did you mean {near}?" if near else "bmwg plan lists ids; a suite's own file its tags"


def _ids(suite: TestSuite) -> list[str]:
    tags = [str(tag) for test in suite.all_tests for tag in test.tags]
    return sorted({tag.removeprefix("id:") for tag in tags if tag.startswith("id:")})


def _near(suite: Path) -> str:
    try:
        names = [entry.name for entry in suite.parent.iterdir()]
    except OSError:
        return "check the path"
    near = near_name(suite.name, names)
    return f"did you mean {suite.with_name(near)}?" if near else "check the path"


def found(suite: str) -> Path:
    """Find a shipped suite or testbed from the working directory, or as it comes with the package."""
    here, inside = Path(suite), Path(bmwg.__file__).parent / suite
    return inside.resolve() if inside.exists() and not here.exists() else here
