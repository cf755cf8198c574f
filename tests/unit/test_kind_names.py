"""A kind of load stands in its own rooms, tables and suites; nothing else may know which kinds there are.

Two contracts. Outside the rooms of a kind whose trials are not of frames, no module imports them or names the
kind, its unit or its profile. And in the house, the modules that take trials of every kind, nothing is made
for frames alone: `DEBT` lists what still is, module by module, and only shrinks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from bmwg.methodology.kinds import registry

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("methodology", "drivers", "resources", "reports", "schemas", "src/bmwg")

# Of each kind: its modules (or folders), as they are imported.
ROOMS = {
    "requests": (
        "bmwg.methodology.http",
        "bmwg.methodology.kinds.requests",
        "bmwg.reports.http",
        "bmwg.resources.http_proxy",
    ),
    "streams": (
        "bmwg.methodology.kinds.streams",
        "bmwg.reports.streams",
        "bmwg.resources.pod_to_pod",
    ),
    "acts": (
        "bmwg.methodology.kinds.acts",
        "bmwg.reports.acts",
        "bmwg.resources.lifecycle",
    ),
    "jobs": (
        "bmwg.methodology.kinds.jobs",
        "bmwg.reports.jobs",
        "bmwg.resources.hosts",
    ),
}
# Who else may enter: drivers of the kind, and what reads its runs from before the one journal.
OTHERS = ("bmwg.drivers.workload", "bmwg.reports.store.former_http")
# Words that tests of network devices use too: a trial of frames counts streams, a medium has a rate in bit/s,
# a trial may have acts, a testbed has pods.
ALSO_OF_FRAMES = frozenset({"streams", "bit/s", "acts", "pods", "jobs"})
# What tells of earlier forms for ever: files, formats and protections that runs had once (schemas/README.md).
HISTORY = {
    "reports/bundle/archive.py",
    "reports/bundle/make.py",
    "reports/checker/evidence.py",
    "reports/checker/reading.py",
    "reports/checker/source.py",
    "reports/store/read.py",
    "reports/verify/other_kinds.py",
    "reports/verify/platform.py",
    "reports/verify/protections.py",
    "reports/verify/verify.py",
    "schemas/formats.py",
}
# The house: what takes trials of every kind of load. A name that ends in / is a folder.
HOUSE = (
    "methodology/kinds/kind.py",
    "methodology/kinds/registry.py",
    "methodology/mlr/",
    "methodology/offers.py",
    "methodology/record/",
    "methodology/search/",
    "reports/bundle/",
    "reports/checker/deviations.py",
    "reports/checker/documents.py",
    "reports/checker/evidence.py",
    "reports/checker/findings.py",
    "reports/checker/reading.py",
    "reports/checker/source.py",
    "reports/checker/state.py",
    "reports/checker/verdicts.py",
    "reports/compare/",
    "reports/registry/",
    "reports/render/page.py",
    "reports/rooms.py",
    "reports/store/",
    "reports/verify/",
    "resources/clock.py",
    "resources/continuation.py",
    "resources/firsts.py",
    "resources/library.py",
    "resources/open_run.py",
    "resources/outcomes.py",
    "resources/platform.py",
    "resources/preflight.py",
    "resources/progress.py",
    "resources/provenance.py",
    "resources/rooms.py",
    "resources/settings.py",
    "src/bmwg/cli/",
)
# Rooms of frames within the house's folders.
OWN = (
    "methodology/mlr/stated.py",
    "reports/verify/physics.py",
    "reports/verify/replay.py",
    "reports/verify/replay_measured.py",
    "src/bmwg/cli/calibrate.py",
)
FOR_FRAMES = re.compile(
    r"FRAMES|OF_FRAMES|of_frames|JournalTrial|TrialSpec|TrialResult|StreamCounts|frame_octets"
)
UNIT = "frames/s"
DEBT = {  # how often each of these is made for frames alone
    # frames are the kind that a file names none of: their cells and lines have no `kind` in earlier forms
    "methodology/kinds/registry.py": 3,
    "reports/store/upgrade.py": 1,
    # their trials are read lazily and keep a class of their own, for runs of ten thousand with histograms
    "reports/store/codec.py": 18,
    "reports/store/journal.py": 6,
    "reports/store/read.py": 3,
    "reports/store/run.py": 2,
    "reports/checker/evidence.py": 3,
    "reports/checker/reading.py": 11,
    # a run that is killed names the trial under way, and one that goes on takes up those of a search
    "reports/store/interruptions.py": 1,
    "resources/continuation.py": 4,
    "resources/progress.py": 4,
    "resources/platform.py": 3,
    # rules and replays of frames are asked of frames alone
    "reports/checker/verdicts.py": 4,
    "reports/verify/other_kinds.py": 4,
    "reports/verify/protections.py": 1,
    "reports/verify/rules.py": 5,
    # what a reader should ask of a choice, and is told of a submission
    "reports/verify/choices.py": 1,
    "reports/verify/told.py": 4,
    "reports/verify/turns.py": 2,
    # columns of a comparison
    "reports/compare/comparison.py": 3,
    "reports/compare/screen.py": 9,
}


def named(unit: str, text: str) -> bool:
    """Whether a text holds a unit that is of one kind of load alone."""
    return unit not in ALSO_OF_FRAMES and unit in text


@cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def modules() -> Iterator[tuple[str, Path]]:
    for place in PLACES:
        for file in sorted((ROOT / place).rglob("*.py")):
            yield str(file.relative_to(ROOT)), file


def dotted(name: str) -> str:
    inner = name.removeprefix("src/bmwg/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"bmwg.{inner}"


def within(module: str, rooms: tuple[str, ...]) -> bool:
    return any(module == room or module.startswith((f"{room}.", f"{room}_")) for room in rooms)


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Texts of the code, without docstrings."""
    said = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value


def test_no_module_outside_its_rooms_names_a_kind():
    assert set(ROOMS) == set(registry.kinds())
    found = []
    for kind, rooms in ROOMS.items():
        one = registry.kind(kind, "a test")
        words = {kind, one.schema["$id"].split(":")[2], one.profile_format} - ALSO_OF_FRAMES
        for name, file in modules():
            if within(dotted(name), (*rooms, *OTHERS)):
                continue
            tree = parsed(file)
            said = [(line, text) for line, text in imported(tree) if within(text, rooms)]
            # drivers are told a name by whoever has one; `requests` is a word of Kubernetes, too
            if name not in HISTORY and not name.startswith("drivers/"):
                said += [(line, text) for line, text in texts(tree) if text in words or named(one.unit, text)]
            found += [f"{name}:{line}: {text}" for line, text in said]
    assert found == []


def test_the_house_is_made_for_frames_alone_only_where_the_debt_says_so():
    found: dict[str, int] = {}
    rooms = (*(room for one in ROOMS.values() for room in one), *OTHERS)
    for name, file in modules():
        if not name.startswith(HOUSE) or name in OWN or within(dotted(name), rooms):
            continue
        tree = parsed(file)
        names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
        names += [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        names += [node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg]
        count = sum(bool(FOR_FRAMES.fullmatch(one)) for one in names)
        count += sum(UNIT in text for _, text in texts(tree))
        if count:
            found[name] = count
    assert found == DEBT, "what is new is to be made for every kind; what went is to leave the list"
