"""The sections that tell how it was got: validity, tester, search, platform, deviations, reproduction."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

from bmwg.methodology.profiles.narrowed import KEY as NARROWED
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.methodology.trial import directions
from bmwg.reports.render.blocks import Block, code, fold, pairs, paragraph, table, title
from bmwg.reports.render.facts import ENVELOPE, Facts, option
from bmwg.reports.render.sections.common_columns import HEAD, TAIL, front, remarks_of
from bmwg.reports.render.sections.definitions import DEFINITIONS, TYPES, VALIDITY, definition
from bmwg.reports.render.sections.guest import guest_words
from bmwg.reports.render.sections.results import found
from bmwg.reports.render.text import NONE, nanoseconds, percent, plain, sequence, unit, whole
from bmwg.reports.store import JournalTrial, Run

MAX_TRIAL_ROWS = 400  # choice: more rows are no reading; all trials are in the journal
MAX_RECORD_ROWS = 400
_COLUMNS = 100  # choice: of a command
_NARROWS = {"networks": "--network", "paths": "--path", "frame_octets": "--frame-size"}


def _limited(rows: list[list[str]], limit: int, rest: str) -> tuple[list[list[str]], list[Block]]:
    if len(rows) <= limit:
        return rows, []
    return rows[:limit], paragraph(f"{len(rows) - limit} more {rest}")


def validity(facts: Facts) -> list[Block]:
    """Return how many trials were valid, and what the set-aside ones would have changed."""
    total = len(facts.run.trials)
    rows = [
        [kind.value, whole(count), percent(count / total), VALIDITY[kind.value]]
        for kind, count in facts.validity.items()
        if count
    ]
    if not rows:
        return []
    lines = title("Validity of the trials")
    lines += table(["validity", "trials", "share", "meaning"], rows, f"{total} trials by validity")
    rows = []
    for outcome in facts.of_search():
        if (said := facts.set_aside(outcome)).count:
            over_all = facts.over_all_trials(outcome)
            highest = unit(over_all, "frames/s") if over_all is not None else "no lossless load"
            aside = f"{percent(said.ratio)}: {said}"
            rows.append([*front(outcome), found(facts, outcome), highest, aside])
    head = [*HEAD, "throughput, frames/s", "highest lossless load over all trials", "set aside"]
    return [*lines, *table(head, rows, "Answers for which trials were set aside")]


def not_valid(facts: Facts) -> list[Block]:
    """Return each trial that is not valid, and why."""
    invalid = [trial for trial in facts.run.trials if trial.validity is not Validity.VALID]
    if not invalid:
        return []
    rows, more = _limited([_invalid_row(trial) for trial in invalid], MAX_TRIAL_ROWS, "are in trials.jsonl")
    head = ["trial", "cell", "load", "loss", "validity", "reason"]
    name = f"{len(invalid)} trials that are not valid"
    return [*title("Trials that are not valid"), *table(head, rows, name), *more]


def _invalid_row(trial: JournalTrial) -> list[str]:
    return [
        str(trial.seq),
        trial.cell_id,
        unit(trial.spec.load_fps, "frames/s"),
        percent(trial.loss_ratio),
        trial.validity.value,
        "; ".join(part for part in (trial.reason, trial.fault) if part),
    ]


def search(facts: Facts) -> list[Block]:
    """Return the trials of each search in the order they ran; the table behind the plot."""
    lines: list[Block] = []
    left = MAX_TRIAL_ROWS
    unshown = 0
    for outcome in facts.of_search():
        trials = [facts.run.trial(seq) for seq in outcome.trials]
        if not trials:
            continue
        if len(trials) > left:
            unshown += len(trials)
            continue
        left -= len(trials)
        rows = [
            [
                str(trial.seq),
                trial.phase,
                unit(trial.spec.load_fps, "frames/s"),
                f"{trial.spec.duration_s:g}\u00a0s",
                whole(trial.sent_frames),
                whole(trial.sent_frames - trial.received_frames),
                percent(trial.loss_ratio),
                trial.validity.value,
            ]
            for trial in trials
        ]
        head = ["trial", "phase", "load", "duration", "sent frames", "lost frames", "loss", "validity"]
        name = f"{option(outcome.cell)}, {outcome.cell.frame_octets} octets: {len(trials)} trials"
        lines += fold(name, table(head, rows))
    if unshown:
        lines += paragraph(f"{whole(unshown)} further trials of searches are in trials.jsonl.")
    return lines


def tester(facts: Facts) -> list[Block]:
    """Return what the tester alone reached (the wire rung) and how exactly it sent."""
    if not facts.outcomes and not facts.run.trials:
        return []
    lines = title("Tester: envelope and pacing")
    wire = facts.of_metric(ENVELOPE)
    if wire:
        rows = [
            [*front(one), found(facts, one), sequence(one.trials), "; ".join(remarks_of(one))] for one in wire
        ]
        head = ["path", *HEAD[1:], "envelope per port and direction, frames/s", *TAIL]
        lines += table(head, rows, "Envelope: the tester with nothing between its ports")
    else:
        lines += paragraph("The run holds no answer for the wire, so the tester's envelope is not known.")
    rows = []
    for path in dict.fromkeys(outcome.cell.path for outcome in facts.outcomes):
        trials = [
            trial
            for trial in facts.run.trials
            if trial.cell_id.split("/", 1)[0] == path
            and trial.validity is Validity.VALID
            and trial.intended_frames
        ]
        if trials:
            rows.append([path, whole(len(trials)), *_pacing(trials)])
    if rows:
        head = ["path", "valid trials", "sent against intended", "lateness", "longest gap"]
        lines += table(head, rows, "Pacing over valid trials: median (smallest to largest)")
    return lines


def _pacing(trials: list[JournalTrial]) -> list[str]:
    off = [(trial.sent_frames - trial.intended_frames) / trial.intended_frames * 1e6 for trial in trials]
    late = [trial.largest_lateness_ns for trial in trials]
    gaps = [trial.largest_gap_ns for trial in trials]
    return [
        f"{median(off):.1f} ({min(off):.1f} to {max(off):.1f})\u00a0ppm",
        f"{nanoseconds(median(late))} ({nanoseconds(min(late))} to {nanoseconds(max(late))})",
        f"{nanoseconds(median(gaps))} ({nanoseconds(min(gaps))} to {nanoseconds(max(gaps))})",
    ]


def _leaves(data: Any, path: str = "") -> Iterable[tuple[str, str, str]]:
    """Walk a record: (field, value, how it was got). A leaf has `value`, `unknown` or `not_applicable`."""
    if isinstance(data, Mapping):
        if "value" in data and "how" in data:
            how = data["how"]
            source = (
                " ".join(str(how[key]) for key in ("kind", "from") if key in how)
                if isinstance(how, Mapping)
                else str(how)
            )
            yield path, _short(data["value"]), source
        elif isinstance(data.get("unknown"), str):
            yield path, "unknown", str(data["unknown"])
        elif isinstance(data.get("not_applicable"), str):
            yield path, "not applicable", str(data["not_applicable"])
        else:
            for key, value in data.items():
                yield from _leaves(value, f"{path}.{key}" if path else str(key))
    elif isinstance(data, list) and any(isinstance(entry, (Mapping, list)) for entry in data):
        for number, entry in enumerate(data):
            yield from _leaves(entry, f"{path}[{number}]")
    else:
        yield path, _short(data), ""


def _worded(value: Any) -> str:
    """Return a value of a record as words: lists with commas, no literals of a language."""
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_worded(one)}" for key, one in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_worded, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _short(value: Any) -> str:
    text = plain(_worded(value))
    return text if len(text) <= 200 else text[:199] + "…"


def platform(facts: Facts) -> list[Block]:
    """Return on what the run measured, each value with how it was got, and what each deployment was."""
    run = facts.run
    lines = title("Platform")
    before = list(_leaves(run.platform_before)) if run.platform_before is not None else []
    after = {name: value for name, value, _ in _leaves(run.platform_after)} if run.platform_after else {}
    if not before:
        lines += paragraph("The run holds no platform record.")
    else:
        unknown = sum(value == "unknown" for _, value, _ in before)
        inapplicable = sum(value == "not applicable" for _, value, _ in before)
        changed = [name for name, value, _ in before if name in after and after[name] != value]
        lines += pairs(
            [
                ("fields of the record before the run", whole(len(before))),
                ("unknown, with the reason", whole(unknown)),
                ("not applicable, with the reason", whole(inapplicable)),
                ("other value after the run", whole(len(changed)) if after else "no record after the run"),
            ]
        )
        rows, more = _limited(
            [
                [name, value, after.get(name, NONE) if name in changed else NONE, how]
                for name, value, how in before
            ],
            MAX_RECORD_ROWS,
            "fields are in platform.json",
        )
        head = ["field", "value", "after the run, where it differs", "how it was got"]
        lines += fold("The platform record", [*table(head, rows), *more])
    rows = [
        [name, field, value]
        for name, evidence in run.deployments.items()
        for field, value, _ in _leaves(evidence)
    ]
    if rows:
        shown, more = _limited(rows, MAX_RECORD_ROWS, "fields are in platform.json")
        lines += fold(
            f"{len(run.deployments)} deployments", [*table(["deployment", "field", "value"], shown), *more]
        )
    rows = [
        [str(number), field, value]
        for number, driver in enumerate(run.drivers, start=1)
        for field, value, _ in _leaves(driver)
    ]
    if rows:
        shown, more = _limited(rows, MAX_RECORD_ROWS, "fields are in run.json")
        lines += fold(f"{len(run.drivers)} drivers", [*table(["driver", "field", "value"], shown), *more])
    return lines


def reproduction(facts: Facts) -> list[Block]:
    """Return the commands that repeat the run and those that check this one."""
    run = facts.run
    commands = []
    if run.toolkit_commit:
        commands.append(f"git checkout {shlex.quote(run.toolkit_commit)}")
    commands += _again(run)
    commands.append(f"bmwg report {shlex.quote(plain(run.run_id))}")
    lines = [
        *title("Reproduction"),
        *paragraph(
            "The same tests on the same testbed by the same profile (one of your own by its file), then this "
            "page anew from the files:"
        ),
    ]
    lines += code(commands)
    checks = [
        ("SHA-256 of the header", _grouped(run.header_sha256)),
        ("SHA-256 of the last journal line", _grouped(run.journal_hash)),
    ]
    if run.trials:
        checks.append(("trials in the journal", str(len(run.trials))))
    return [*lines, *pairs(checks)]


def _again(run: Run) -> list[str]:
    """Return the command of a run of the same tests, testbed, profile and narrowing, as lines of a shell."""
    name = str(run.profile["name"]).removesuffix(f"-{NARROWED}")
    options = [("--testbed", _from_checkout(run.testbed_source))] if run.testbed_source else []
    options.append(("--profile", name))
    profiles = [run.of_load(load).profile for load in run.kinds] or [run.profile]
    narrowed = (profile[NARROWED] for profile in profiles if NARROWED in profile)
    parts: Mapping[str, Any] = next(narrowed, {})
    for part, option_name in _NARROWS.items():
        options += [(option_name, str(value)) for value in parts.get(part, ())]
    options += [("--test", test_id) for test_id in dict.fromkeys(planned.test_id for planned in run.plan)]
    lines = ["bmwg run testcases" + (" --in-guest" if guest_words(run) else "")]
    for option_name, value in options:
        word = f" {option_name} {shlex.quote(plain(value))}"
        if len(lines[-1]) + len(word) > _COLUMNS:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += word
    return lines


def _from_checkout(path: str) -> str:
    """Return the path of a testbed file as one names it in a checkout; another path as it is."""
    _, folder, name = path.rpartition("/testbeds/")
    return f"testbeds/{name}" if folder else path


def _grouped(text: str) -> str:
    """Return a hash in groups of eight, so that a narrow page can break it."""
    return " ".join(text[start : start + 8] for start in range(0, len(text), 8))


def definitions(facts: Facts) -> list[Block]:
    """Return what each metric, type and tag of validity in this run means."""
    used: dict[str, None] = {}
    for outcome in facts.outcomes:
        for name in [value.metric for value in outcome.values] or [outcome.metric]:
            used.setdefault(name.replace("_9", ".9") if name.endswith("p99_9") else name)
    rows = []
    for name in used:
        plain_name, way = directions.without(name)
        known = definition(plain_name)
        family = [key for key in DEFINITIONS if key.startswith(plain_name + ".")]
        if known:
            meaning = directions.of(known.meaning, way)
            rows.append([name, known.unit, meaning, known.clause])
        elif not family:
            rows.append([name, NONE, "this version holds no definition", NONE])
    lines = title("Definitions")
    if rows:
        lines += table(["metric", "unit", "meaning", "clause"], rows, "Metrics")
    present = {outcome.type for outcome in facts.outcomes}
    words = [kind.value.replace("_", " ") for kind in OutcomeType if kind in present]
    by_word = {
        word: TYPES[name]
        for word in words
        for name in TYPES
        if name == word or name.replace(" the ", " ") == word
    }
    if by_word:
        lines += table(["type of an answer", "meaning"], [[w, m] for w, m in by_word.items()], "Types")
    return lines if rows or by_word else []
