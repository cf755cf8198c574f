"""`bmwg list WHAT`: the names that other verbs take, such as tests, networks or profiles."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from bmwg.cli import as_json
from bmwg.drivers import registry
from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology import suites
from bmwg.methodology.profiles import load_profile

_COLUMNS = 110  # choice: what is longer is cut on the screen, never in JSON


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("list", help="list the names that other verbs take", description=__doc__)
    parser.add_argument("what", choices=sorted(_LISTS))
    parser.add_argument("--testbed", type=Path, help="whose networks (default: the embedded testbed)")
    as_json.add_argument(parser)
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Print one line a name; the columns of JSON are named."""
    rows = list(_LISTS[chosen.what](chosen))
    if chosen.json:
        as_json.show("list", {"what": chosen.what, "rows": rows})
        return 0
    if not rows:
        print(f"no {chosen.what} here")
        return 0
    widths = {key: max(len(str(row[key])) for row in rows) for key in rows[0]}
    for row in rows:
        line = "  ".join(str(row[key]).ljust(width) for key, width in widths.items()).rstrip()
        print(line if len(line) <= _COLUMNS else f"{line[: _COLUMNS - 1]}…")
    return 0


def _suites(chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for name, tests in _tests_by_suite().items():
        yield {"name": name, "tests": len(tests), "path": f"testcases/{name}"}


def _tests(chosen: argparse.Namespace) -> Iterator[dict[str, str]]:
    for suite, tests in _tests_by_suite().items():
        for test in tests:
            yield {**test, "suite": suite}


def _tests_by_suite() -> dict[str, list[dict[str, str]]]:
    """Return the tests of each suite's folder, as Robot Framework reads them."""
    from robot.api import TestSuite  # takes long to load

    from bmwg.cli.selection import found

    folder = found("testcases")
    told: dict[str, list[dict[str, str]]] = {}
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        if not any(place.glob("**/*.robot")):
            continue
        told[place.name] = [
            {"id": tag.removeprefix("id:"), "name": test.name}
            for test in TestSuite.from_file_system(place).all_tests
            for tag in map(str, test.tags)
            if tag.startswith("id:")
        ]
    return told


def _profiles(chosen: argparse.Namespace) -> Iterator[dict[str, str]]:
    """Return the profiles of every kind of load: each keeps its own in a folder of that name."""
    methodology = Path(suites.__file__).parent
    for file in sorted(methodology.rglob("profiles/*.yaml")):
        own = file.parent.parent == methodology  # those of every other kind stand in its own folder
        kind = "frames" if own else file.parent.parent.name
        data = load_profile(file.stem).data if own else yaml.safe_load(file.read_text(encoding="utf-8"))
        title = str(data.get("title", ""))
        state = "indicative" if data.get("indicative") else "conformance"
        yield {"name": file.stem, "of": kind, "state": state, "title": title}


def _networks(chosen: argparse.Namespace) -> Iterator[dict[str, str]]:
    for name, option in load_testbed(chosen.testbed).data["networks"].items():
        yield {"name": name, "driver": str(option["driver"]), "model": str(option.get("model", ""))}


def _paths(chosen: argparse.Namespace) -> Iterator[dict[str, str]]:
    for name, kind in registry.paths().items():
        takes = "a network" if kind.networked else "no network"
        yield {"name": name, "takes": takes, "what": kind.scenario}


def _testbeds(chosen: argparse.Namespace) -> Iterator[dict[str, str]]:
    """Return the files of a checkout, with the first sentence of each."""
    from bmwg.cli.selection import found

    folder = found("testbeds")
    for file in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
        head = []
        for line in file.read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                break
            head.append(line.removeprefix("#").strip())
        yield {"path": str(file), "what": " ".join(head).partition(". ")[0]}


def _workloads(chosen: argparse.Namespace) -> Iterator[dict[str, str]]:
    for name in registry.names(registry.WORKLOAD):
        yield {"name": name}


_LISTS: dict[str, Callable[[argparse.Namespace], Iterator[dict[str, Any]]]] = {
    "suites": _suites,
    "tests": _tests,
    "profiles": _profiles,
    "networks": _networks,
    "paths": _paths,
    "testbeds": _testbeds,
    "workloads": _workloads,
}
