"""Breaks the rules one step at a time, and counts which breaks none of their three runs tells.

    .venv/bin/python tests/unit/checker/mutants.py [module ...]

Each rule is turned into a constant first; then each comparison, number, condition and quantifier of the
rule modules is changed alone. A change that no run tells is printed: it is a step that no run stands on, or
one that makes no difference. The last line is JSON.
"""

from __future__ import annotations

import ast
import copy
import json
import sys
import types
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import runs
from three import Three

from bmwg.methodology.requirements.rows import Basis, requirement
from bmwg.reports.checker import table
from bmwg.reports.checker.documents import COUNTED, _whole, scope_of
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.judge import BENCHMARKS, among
from bmwg.reports.checker.verdicts import Answer, ClauseRule, Scope, Verdict, concluded

CONSTANTS = (Verdict.MET, Verdict.NOT_MET, Verdict.NOT_APPLICABLE, Verdict.NOT_ASSESSED)
_OTHER: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def cases() -> dict[str, Three]:
    """Return the three runs of every rule."""
    found: dict[str, Three] = {}
    for file in sorted(Path(__file__).parent.glob("cases_*.py")):
        found |= import_module(file.stem).CASES
    return found


@cache
def _scope(make: Callable[[], Evidence], row: str, benchmark: str) -> tuple[str, Scope | None]:
    """Return what a row is judged on in a run, as `judge` makes it: the first scope that there is."""
    evidence = runs.as_measured(make())
    document = requirement(row).document
    if document == "RFC2544":
        section = requirement(row).section
        for name, (own, metrics) in BENCHMARKS.items():
            if benchmark in ("", name) and (not section.startswith("26.") or section == own):
                scope = scope_of(evidence, name, partial(among, metrics))
                if scope is not None:
                    return name, scope
        return "", None
    if document in COUNTED:
        return document, scope_of(evidence, document, lambda metric: metric.startswith(COUNTED[document]))
    return document, _whole(evidence, document)


def said(rule: ClauseRule, make: Callable[[], Evidence], case: Three) -> str:
    """Return what a rule says of a run: a verdict, or `absent` where the run holds nothing to judge."""
    row = requirement(rule.requirement)
    benchmark, scope = _scope(make, rule.requirement, case.benchmark)
    if scope is None or (rule.benchmarks and benchmark not in rule.benchmarks):
        return "absent"
    return concluded(row, benchmark, rule.check(scope), declared=False).original.value


def told(rule: ClauseRule, case: Three) -> bool:
    """Whether one of the three runs of a rule says that it is not what it should be."""
    unread = requirement(rule.requirement).basis is not Basis.TEXT
    wanted = (
        (case.met, (Verdict.MET,)),
        (case.not_met, (Verdict.NOT_ASSESSED if unread else Verdict.NOT_MET,)),
        (case.not_applicable, (Verdict.NOT_APPLICABLE, "absent")),
    )
    try:
        return any(said(rule, make, case) not in expected for make, expected in wanted)
    except Exception:  # a broken rule may break in any way
        return True


def constant(rule: ClauseRule, verdict: Verdict) -> ClauseRule:
    """Return a rule that always says the same."""
    made = Answer(verdict=verdict, expected="", found="")
    return ClauseRule(
        requirement=rule.requirement, benchmarks=rule.benchmarks, check=lambda _: made, loads=rule.loads
    )


def mutants(tree: ast.Module) -> Iterator[tuple[str, int, ast.Module]]:
    """Yield the module with one step changed: the name of the function, the line, the tree."""
    owners = {
        id(node): getattr(owner, "name", "constant")
        for owner in tree.body
        if isinstance(owner, (ast.FunctionDef, ast.ClassDef, ast.Assign))
        for node in ast.walk(owner)
    }
    for number, node in enumerate(ast.walk(tree)):
        for variant in range(2):
            if id(node) in owners and _change(copy.deepcopy(node), variant):
                other = copy.deepcopy(tree)
                _change(list(ast.walk(other))[number], variant)
                line = getattr(node, "lineno", 1)
                yield owners[id(node)], line, ast.fix_missing_locations(other)


def _change(node: ast.AST, variant: int) -> bool:
    """Change one node in place; False where there is nothing to change in this way."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER and variant == 0:
        node.ops[0] = _OTHER[type(node.ops[0])]()
    elif isinstance(node, ast.BoolOp) and variant == 0:
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and variant == 0:
        node.op, node.operand = ast.Not(), ast.UnaryOp(op=ast.Not(), operand=node.operand)
    elif isinstance(node, ast.Name) and node.id in ("any", "all", "min", "max") and variant == 0:
        node.id = {"any": "all", "all": "any", "min": "max", "max": "min"}[node.id]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool) and variant == 0:
        node.value = not node.value
    elif (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    ):
        node.value += 1 if variant else -1
    else:
        return False
    return True


def _module(original: types.ModuleType, tree: ast.Module) -> types.ModuleType:
    made = types.ModuleType(original.__name__)
    made.__file__ = original.__file__
    made.__package__ = original.__package__
    sys.modules[made.__name__], kept = made, sys.modules[made.__name__]
    try:
        exec(compile(tree, str(original.__file__), "exec"), made.__dict__)
    finally:
        sys.modules[made.__name__] = kept
    return made


def survivors(name: str, known: dict[str, Three]) -> tuple[int, list[str]]:
    """Return how many changes of a module were tried, and those that no run of its rules tells."""
    original = import_module(f"bmwg.reports.checker.{name}")
    text = Path(str(original.__file__)).read_text(encoding="utf-8")
    lines = text.splitlines()
    tried, left = 0, []
    for function, line, tree in mutants(ast.parse(text)):
        tried += 1
        try:
            rules = table.rules_of(_module(original, tree))
        except Exception:
            continue
        if not any(told(rule, known[rule.requirement]) for rule in rules):
            left.append(f"{name}:{line} {function}: {lines[line - 1].strip()[:100]}")
    return tried, left


def main(names: list[str]) -> int:
    """Print what survives; the status is 1 where a constant does."""
    with runs.folder() as folder:
        runs.ROOT[:] = [folder]
        return tried_on(cases(), names)


def tried_on(known: dict[str, Three], names: list[str]) -> int:
    """Try all changes on these runs, and print what survives."""
    rules = {rule.requirement: rule for rule in table.RULES}
    standing = [
        f"{row} as {verdict.value}"
        for row, rule in rules.items()
        for verdict in CONSTANTS
        if not told(constant(rule, verdict), known[row])
    ]
    wrong = [row for row, rule in rules.items() if told(rule, known[row])]
    tried, left = 0, []
    modules = sorted({rule.check.__module__.rpartition(".")[2] for rule in table.RULES})
    for name in names or modules:
        count, more = survivors(name, known)
        tried, left = tried + count, left + more
        print(f"{name}: {count} changes, {len(more)} told by no run", flush=True)
        for one in more:
            print(f"  {one}", flush=True)
    print(
        json.dumps(
            {
                "rules": len(rules),
                "rules_that_their_runs_contradict": wrong,
                "constants_tried": len(rules) * len(CONSTANTS),
                "constants_that_survive": standing,
                "changes_tried": tried,
                "changes_that_survive": len(left),
            }
        )
    )
    return 1 if standing or wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
