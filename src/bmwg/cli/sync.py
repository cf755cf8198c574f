"""`bmwg sync [--check]`: write the pages of docs/ computed from the code, or say which are stale."""

from __future__ import annotations

import argparse
import ast
import difflib
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robot.api import TestSuite

from bmwg.cli import exits
from bmwg.cli.coverage_page import coverage_page, owed_rules, place
from bmwg.cli.decisions_page import decisions_page
from bmwg.cli.schema_page import output_page, profile_keys_page
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.profiles import builtin_names, load_profile
from bmwg.methodology.record.coverage import configuration_rows
from bmwg.methodology.requirements.rows import catalogue
from bmwg.methodology.requirements.unjudged_rows import faults, read, shipped
from bmwg.reports.checker.table import RULES

SOURCES = ("methodology", "drivers", "resources", "reports", "schemas", "src/bmwg/cli")
_ERROR_ID = re.compile(r"^[A-Z]{2,6}-\d{2,3}$")
_SHOWN_FAULTS = 10
_HEAD = "<!-- Computed by `bmwg sync`; edit what it is computed from. -->\n\n"
_CLASSES = {
    "ConfigError": "your file or option; nothing was started",
    "TestbedError": "the lab: machine, kernel, interface, plugin, permission",
    "TrialInvalid": "a trial's procedure did not hold; it may be repeated",
    "DriverError": "a driver, or the program that it drives",
    "ToolkitBug": "the toolkit",
}


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ErrorUse:
    """One place that uses an error id. `kind` is the error class there, empty where a helper chooses it."""

    error_id: str
    kind: str
    what: str
    hint: str
    file: str


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser("sync", help="write the computed pages of docs/", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a page is stale")
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Write or check the pages of the checkout that this package is installed from."""
    root = checkout()
    stale = 0
    for name, text in pages(root).items():
        file = root / name
        found = file.read_text(encoding="utf-8") if file.exists() else ""
        if found == text:
            continue
        if chosen.check:
            stale += 1
            changes = difflib.unified_diff(
                found.splitlines(), text.splitlines(), name, f"{name} (computed)", "", "", 0
            )
            print("\n".join(line for _, line in zip(range(20), changes, strict=False)))
            print(f"{name} is stale: run `bmwg sync` and commit it")
        else:
            file.write_text(text, encoding="utf-8")
            print(f"{name} written")
    return 1 if stale else 0


def checkout() -> Path:
    """Return the root of the checkout; ConfigError SYNC-01 when the package was installed without one."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "docs").is_dir() or not (root / "testcases").is_dir():
        raise ConfigError(
            "SYNC-01",
            "the pages of docs/ are computed in a checkout of the repository",
            expected="docs/ and testcases/ three folders above this module",
            found=str(root),
            hint="use the bmwg of a checkout's own .venv",
        )
    return root


def pages(root: Path) -> dict[str, str]:
    """Compute every page: path from the root, and text."""
    return {
        "docs/errors.md": errors_page(error_uses(root)),
        "docs/coverage.md": coverage(root),
        "docs/adr/README.md": _HEAD + decisions_page(root),
        "docs/json.md": _HEAD + output_page(),
        "docs/profile-keys.md": _HEAD + profile_keys_page(),
    }


def error_uses(root: Path) -> list[ErrorUse]:
    """Find every error id that a call in the sources has as an argument."""
    found: set[ErrorUse] = set()
    for folder in SOURCES:
        for file in sorted((root / folder).rglob("*.py")):
            name = str(file.relative_to(root))
            found.update(_uses_in(ast.parse(file.read_text(encoding="utf-8")), name))
    return sorted(found)


def _uses_in(tree: ast.Module, file: str) -> Iterator[ErrorUse]:
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
        for position, argument in enumerate(call.args):
            if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                continue
            if not _ERROR_ID.match(argument.value):
                continue
            known = called in _CLASSES
            what = _text(call.args[position + 1]) if known and len(call.args) > position + 1 else ""
            hints = [keyword.value for keyword in call.keywords if keyword.arg == "hint"]
            yield ErrorUse(
                error_id=argument.value,
                kind=called if known else "",
                what=what,
                hint=_text(hints[0]) if hints else "",
                file=file,
            )


def _text(node: ast.expr) -> str:
    """Return what a string expression says, with an ellipsis for each value that is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "…" for part in node.values)
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    return "…"


def errors_page(uses: Iterable[ErrorUse]) -> str:
    """Render the table of error ids."""
    by_id: dict[str, list[ErrorUse]] = {}
    for use in uses:
        by_id.setdefault(use.error_id, []).append(use)
    lines = ["# Errors", "", "Every error has an id that does not change. Who can mend it:", ""]
    lines += [f"- `{name}`: {mender}" for name, mender in _CLASSES.items()]
    lines += ["", *exits.table()]
    lines += ["", "An ellipsis stands for what is filled in.", ""]
    lines += ["| id | class | what | hint | raised in |", "|---|---|---|---|---|"]
    for error_id, group in sorted(by_id.items()):
        cells = [
            sorted({f"`{use.kind}`" for use in group if use.kind}),
            _distinct(use.what for use in group),
            _distinct(use.hint for use in group),
            sorted({f"`{use.file}`" for use in group}),
        ]
        lines.append(f"| {error_id} | " + " | ".join("<br>".join(cell) for cell in cells) + " |")
    return _HEAD + "\n".join(lines) + "\n"


def _distinct(texts: Iterable[str]) -> list[str]:
    said = {" ".join(text.split()).replace("|", "\\|").replace("<", "&lt;") for text in texts}
    return sorted(said - {"", "…"})


def citations(root: Path) -> dict[str, list[str]]:
    """Which test ids cite each requirement, from the tags of the suites."""
    cited: dict[str, list[str]] = {}
    for tags in _tags(TestSuite.from_file_system(root / "testcases")):
        ids = [tag.removeprefix("id:") for tag in tags if tag.startswith("id:")]
        for tag in tags:
            if tag.startswith("req:"):
                cited.setdefault(tag.removeprefix("req:"), []).extend(ids)
    return {requirement: sorted(set(ids)) for requirement, ids in cited.items()}


def _tags(suite: Any) -> Iterator[list[str]]:
    for test in suite.tests:
        yield [str(tag) for tag in test.tags]
    for child in suite.suites:
        yield from _tags(child)


def deviations() -> dict[str, list[str]]:
    """Which profiles declare a deviation from each requirement."""
    found: dict[str, list[str]] = {}
    for name in builtin_names():
        for deviation in load_profile(name).deviations:
            found.setdefault(deviation.requirement, []).append(name)
    return found


def row_faults(root: Path) -> list[str]:
    """What is wrong with the reasons of rows without a rule, and which tests they name in vain."""
    rows, found = read(shipped())
    ruled = {rule.requirement for rule in RULES}
    found += faults(rows, ruled, configuration_rows())
    for test in sorted({test for entry in rows.values() for test in entry.by}):
        name, _, function = test.partition("::")
        file = root / name
        if not file.is_file():
            found.append(f"{test}: no such file in the checkout")
        elif function and f"def {function}(" not in file.read_text(encoding="utf-8"):
            found.append(f"{test}: no such test in the file")
    return found


def coverage(root: Path) -> str:
    """Compute docs/coverage.md. Raises ConfigError SYNC-02 with the faults of rows without a rule."""
    if found := row_faults(root):
        raise ConfigError(
            "SYNC-02",
            "rows of the documents",
            expected="each with a rule, or with a reason in methodology/unjudged/",
            found="; ".join(found[:_SHOWN_FAULTS]) + (f"; {len(found)} in all" if len(found) > 1 else ""),
            hint="CONTRIBUTING.md, `Add a requirement`, says what a reason holds",
        )
    placed = place(
        catalogue().values(), {rule.requirement for rule in RULES}, owed_rules(root), read(shipped())[0]
    )
    return _HEAD + coverage_page(placed, citations(root), deviations())


def main() -> int:
    """Run the verb alone: `python -m bmwg.cli.sync`."""
    parser = argparse.ArgumentParser(prog="bmwg")
    add_parser(parser.add_subparsers(required=True))
    chosen = parser.parse_args(["sync", *sys.argv[1:]])
    code: int = chosen.handler(chosen)
    return code


if __name__ == "__main__":
    sys.exit(main())
