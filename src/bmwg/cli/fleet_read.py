"""`bmwg fleet status|verify|report`: what the runs of a fleet are together."""

from __future__ import annotations

import argparse
from typing import Any

from bmwg.cli import as_json, exits
from bmwg.methodology.errors import TrialInvalid
from bmwg.reports.fleet.plan import read_fleet
from bmwg.reports.fleet.union import Union, grades_of, is_whole, union_of, verdicts_of, verify_union


def status(chosen: argparse.Namespace) -> int:
    """Print a line a shard; 0 when each has its run and nothing is wrong."""
    union = union_of(chosen.results, read_fleet(chosen.plan))
    if chosen.json:
        as_json.show("fleet", _as_data(union))
        return exits.FAILED if union.problems else 0
    for shard in union.fleet.shards:
        one = union.counting.get(shard.number)
        if one is not None:
            print(f"shard {shard.number}: complete on {one.testbed}, run {one.run_id}, attempt {one.attempt}")
            continue
        going = union.found.of(shard.number)
        said = "; ".join(
            f"{other.status} on {other.testbed}, {other.answers} of {other.planned} answers,"
            f" run {other.run_id}"
            for other in going
        )
        print(f"shard {shard.number}: {said or 'not begun'}")
    _say(union)
    print(f"{len(union.counting)} of {len(union.fleet.shards)} shards are complete")
    return exits.FAILED if union.problems else 0


def verify(chosen: argparse.Namespace) -> int:
    """Print every finding; 4 when a run's figures do not follow, 1 when the union is not whole, else 0."""
    union = union_of(chosen.results, read_fleet(chosen.plan))
    made = verify_union(union)
    for number, one in made.items():
        word = "verified" if one.anew else "verified before, the same files"
        said = f"{len(one.findings)} findings" if one.findings else f"{one.trials} trials"
        print(f"shard {number}: {'REJECTED' if one.findings else word}: run {one.run_id}, {said}")
        told = (("state", one.state), ("question", one.questions))
        for line in (*map(str, one.findings), *(f"{name}: {said}" for name, each in told for said in each)):
            print(f"  {line}")
    _say(union)
    for (document, benchmark), grade in grades_of(made, whole=is_whole(union.fleet, made)).items():
        print(f"{document} {benchmark}: {grade}")
    counted = verdicts_of(made)
    print("clauses: " + (", ".join(f"{n} {name}" for name, n in sorted(counted.items())) or "none"))
    if any(verified.findings for verified in made.values()):
        return TrialInvalid.exit_code
    return exits.FAILED if union.problems else 0


def report(chosen: argparse.Namespace) -> int:
    """Write the report and print where; 0 when it is of the whole fleet."""
    from bmwg.reports.fleet.report import page_of  # what draws takes long to load
    from bmwg.reports.render.page.report import FILES, form_of
    from bmwg.reports.store.files import not_written, write_atomically

    fleet = read_fleet(chosen.plan)
    union = union_of(chosen.results, fleet)
    made = verify_union(union)
    text = form_of(page_of(union, made), chosen.format, fleet.sha256[:12])
    place = chosen.output or chosen.results / f"fleet-{fleet.sha256[:12]}" / FILES[chosen.format]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_written(place, error) from error
    write_atomically(place, text.encode("utf-8"))
    print(place)
    whole = not union.problems and not any(verified.findings for verified in made.values())
    return 0 if whole else exits.FAILED


def _as_data(union: Union) -> dict[str, Any]:
    """Return the document `fleet` of docs/json.md as builtins."""
    shards = []
    for shard in union.fleet.shards:
        one = union.counting.get(shard.number)
        runs = [
            {
                "run_id": each.run_id,
                "attempt": each.attempt,
                "testbed": each.testbed,
                "status": each.status,
                "answers": each.answers,
                "planned": each.planned,
            }
            for each in union.found.of(shard.number)
        ]
        shards.append({"shard": shard.number, "counts": one.run_id if one else None, "runs": runs})
    return {"shards": shards, "problems": list(map(str, union.problems)), "left_out": list(union.alone)}


def _say(union: Union) -> None:
    for problem in union.problems:
        print(problem)
    for line in union.alone:
        print(f"left out: {line}")
