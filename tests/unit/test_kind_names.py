"""A kind of load stands in its own rooms, tables and suites; nothing else may know which kinds there are.

Three contracts. Outside the rooms of a kind whose trials are not of frames, no module imports them or names
the kind, its unit or its profile. No module there decides by the name of a kind either, also where that name
is a word of frames too (`decided`). And in the house, the modules that take trials of every kind, nothing is
made for frames alone: what is stands in rooms of frames within it (`OWN`). Frames differ in one thing: what
names no kind is of them, and `UNNAMED` says so where such a text is read. A type in an annotation decides
nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from bmwg.methodology.kinds import registry
from bmwg.methodology.records import FRAMES

ROOT = Path(__file__).resolve().parents[2]
PLACES = ("methodology", "drivers", "resources", "reports", "schemas", "src/bmwg")

# Of each kind: its modules (or folders), as they are imported.
ROOMS = {
    "requests": (
        "bmwg.methodology.kinds.requests",
        "bmwg.methodology.kinds.requests",
        "bmwg.reports.kinds.requests",
        "bmwg.resources.kinds.requests",
    ),
    "streams": (
        "bmwg.methodology.kinds.streams",
        "bmwg.reports.kinds.streams",
        "bmwg.resources.kinds.streams",
    ),
    "acts": (
        "bmwg.methodology.kinds.acts",
        "bmwg.reports.kinds.acts",
        "bmwg.resources.kinds.acts",
    ),
    "jobs": (
        "bmwg.methodology.kinds.jobs",
        "bmwg.reports.kinds.jobs",
        "bmwg.resources.kinds.jobs",
    ),
}
OTHERS = ("bmwg.drivers.workload",)  # who else may enter
# Words that tests of network devices use too: a trial of frames counts streams, a medium has a rate in bit/s,
# a trial may have acts, a testbed has pods.
ALSO_OF_FRAMES = frozenset({"streams", "bit/s", "acts", "pods", "jobs"})
LISTED = "schemas/formats.py"  # the one table of formats that are read
# The house: what takes trials of every kind of load. A name that ends in / is a folder.
HOUSE = (
    "methodology/kinds/kind.py",
    "methodology/kinds/registry.py",
    "methodology/mlrsearch/",
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
    "reports/render/page/page.py",
    "reports/rooms.py",
    "reports/store/",
    "reports/verify/",
    "resources/run/clock.py",
    "resources/run/continuation.py",
    "resources/run/deployment_identity.py",
    "resources/library.py",
    "resources/run/open_run.py",
    "resources/run/outcomes.py",
    "resources/run/platform.py",
    "resources/run/preflight.py",
    "resources/run/progress.py",
    "resources/run/provenance.py",
    "resources/rooms.py",
    "resources/run/settings.py",
    "src/bmwg/cli/",
)
# Rooms of frames within the house's folders.
OWN = (
    "methodology/mlrsearch/stated.py",
    "reports/checker/trials.py",
    "reports/compare/frames_column.py",
    "reports/compare/options.py",
    "reports/store/frame_codec.py",
    "reports/store/frame_trials.py",
    "reports/verify/frames_told.py",
    "reports/verify/functions.py",
    "reports/verify/pci_ports.py",
    "reports/verify/physics.py",
    "reports/verify/replay.py",
    "reports/verify/replay_measured.py",
    "reports/verify/tester_limits.py",
    "src/bmwg/cli/calibrate.py",
)
FOR_FRAMES = re.compile(
    r"FRAMES|OF_FRAMES|of_frames|JournalTrial|TrialSpec|TrialResult|StreamCounts|frame_octets"
)
UNIT = "frames/s"
ASKS_FOR_A_KIND = re.compile(r"(^|_)(kind|kinds|load|loads)$")  # names of functions
# Who reads what may name no kind of load, and so was of frames when there was nothing else.
READS_UNNAMED = {
    "methodology/kinds/registry.py",  # a profile without a format
    "reports/checker/evidence.py",  # a run that cannot be read
    "reports/checker/reading.py",  # such a profile
    "reports/checker/verdicts.py",  # a row of the catalogue
    "reports/compare/screen.py",  # a cell
    "reports/store/codec.py",  # a cell
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


@cache
def imported(tree: ast.Module) -> list[tuple[int, str]]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


@cache
def texts(tree: ast.Module) -> list[tuple[int, str]]:
    """Texts of the code, without docstrings."""
    said = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
    ]


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
            if name != LISTED and not name.startswith("drivers/"):
                said += [(line, text) for line, text in texts(tree) if text in words or named(one.unit, text)]
            found += [f"{name}:{line}: {text}" for line, text in said]
    assert found == []


def decided(tree: ast.Module, kinds: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Where code decides by the name of a kind of load, or keeps one to do so.

    That is a comparison or a case with the name, a collection or a dictionary of such names alone (or of two
    of them), a constant of that text, and an argument where a kind is asked for. A key of something else,
    such as the streams of a trial of frames, is none of these.
    """

    def name_of(node: ast.AST | None) -> str:
        same = isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in kinds
        return node.value if same else ""

    for node in ast.walk(tree):
        found: list[str] = []
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            found = [name_of(one) for side in sides for one in (side, *getattr(side, "elts", ()))]
        elif isinstance(node, ast.MatchValue):
            found = [name_of(node.value)]
        elif isinstance(node, ast.Set | ast.List | ast.Tuple | ast.Dict):
            entries = node.keys if isinstance(node, ast.Dict) else node.elts
            named = {name_of(one) for one in entries} - {""}
            found = [*named] if len(named) > 1 or all(name_of(one) for one in entries) else []
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found = [name_of(node.value)]
        elif isinstance(node, ast.Call):
            asked = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if ASKS_FOR_A_KIND.search(asked):
                found = [name_of(one) for one in node.args]
            found += [name_of(one.value) for one in node.keywords if one.arg == "kind"]
        elif isinstance(node, ast.Subscript) and "kind" in ast.unparse(node.value):
            found = [name_of(node.slice)]
        yield from ((node.lineno, name) for name in found if name)


def test_no_module_outside_its_rooms_decides_by_a_kind():
    found = []
    for name, file in modules():
        apart = [kind for kind, rooms in ROOMS.items() if not within(dotted(name), (*rooms, *OTHERS))]
        found += [f"{name}:{line}: {said}" for line, said in decided(parsed(file), frozenset(apart))]
    found += [
        f"{name}:{line}: {said}"
        for name, tree in house()
        for line, said in decided(tree, frozenset({FRAMES}))
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        'kind == "streams"',
        '"streams" != one.cell.kind',
        'kind in {"streams", other}',
        'kind in ("streams", "jobs")',
        'kind not in ["streams"]',
        'WORDS = {"streams": 1}',
        'WORDS = {"streams": 1, "jobs": 2, "": 3}',
        '_STREAMS = "streams"',
        'mine: str = "streams"',
        'match kind:\n case "streams": pass',
        'run.of_kind("streams")',
        'run.of_load("streams")',
        'registry.kind("streams", "here")',
        'Cell(kind="streams")',
        'by_kind["streams"]',
    ],
)
def test_code_that_decides_by_a_kind_is_found(code):
    assert "streams" in {said for _, said in decided(ast.parse(code), frozenset({"streams", "jobs"}))}


@pytest.mark.parametrize(
    "code",
    [
        'result["streams"]',
        'said.get("streams", 20)',
        'result = {"streams": [one], "lost_frames": 0}',
        'result = {**result, "streams": streams}',
        "kind == word",
    ],
)
def test_a_word_of_frames_is_no_kind(code):
    assert [*decided(ast.parse(code), frozenset({"streams", "jobs"}))] == []


def house() -> Iterator[tuple[str, ast.Module]]:
    rooms = (*(room for one in ROOMS.values() for room in one), *OTHERS)
    for name, file in modules():
        if name.startswith(HOUSE) and name not in OWN and not within(dotted(name), rooms):
            yield name, parsed(file)


def types(tree: ast.Module) -> set[int]:
    """The names within annotations, by identity: a type checker reads them, and nothing runs by them."""
    said: list[ast.AST | None] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign | ast.arg):
            said.append(node.annotation)
        elif isinstance(node, ast.FunctionDef):
            said.append(node.returns)
    return {id(one) for part in said if part is not None for one in ast.walk(part)}


def words_of(tree: ast.Module) -> list[str]:
    """The names that the code uses, annotations aside."""
    aside = types(tree)
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in aside]
    names += [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return names + [node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg]


def test_nothing_in_the_house_is_made_for_frames_alone():
    found = [
        f"{name}: {word}"
        for name, tree in house()
        for word in (
            *(one for one in words_of(tree) if FOR_FRAMES.fullmatch(one)),
            *(text for _, text in texts(tree) if UNIT in text),
        )
    ]
    assert found == []


def test_only_readers_of_what_names_no_kind_ask_for_it():
    assert {name for name, tree in house() if "UNNAMED" in words_of(tree)} == READS_UNNAMED
