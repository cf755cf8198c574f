"""`bmwg verify BUNDLE`: does every number follow from the raw trials, which clauses were met, who signed."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bmwg.cli import as_json
from bmwg.cli.runs import run_folder
from bmwg.methodology.errors import ConfigError
from bmwg.reports.checker.documents import Grade
from bmwg.reports.checker.findings import Finding, shown
from bmwg.reports.checker.judge import Judgement
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.render.text import number_of
from bmwg.reports.verify.shown import shown as shown_of
from bmwg.reports.verify.trust import (
    REQUIRABLE,
    REQUIREMENT_UNMET,
    SIGNER_UNKNOWN,
    required,
    unmet,
    who,
)
from bmwg.reports.verify.verify import (
    TRUSTED,
    Verification,
    verify_folder,
)
from bmwg.resources.run.provenance import toolkit_state

_A_RULE = 5  # choice: findings by one rule on a screen
_OF_A_BUNDLE = ("report", "key", "trust", "at", "reproduction")  # options that a run's folder has no part for


def add_parser(verbs: Any) -> None:
    """Add the verb to the command."""
    parser = verbs.add_parser(
        "verify", help="verify a bundle, or the folder of a run, from its raw trials", description=__doc__
    )
    parser.add_argument("bundle", type=run_folder, help="bundle, or the folder or id of a run")
    parser.add_argument("--key", type=Path, help="public Ed25519 key (PEM) whose signature you trust")
    parser.add_argument(
        "--trust",
        type=Path,
        metavar="FOLDER",
        help="what you trust of a body: a registry, or body.pem and keys.json",
    )
    parser.add_argument(
        "--at", metavar="TIME", help="judge keys at this time (with zone) where no stamp tells; default: now"
    )
    parser.add_argument(
        "--reproduction", type=Path, metavar="BUNDLE", help="another party's bundle that may reproduce it"
    )
    parser.add_argument(
        "--require",
        default="",
        metavar="NAMES",
        help=f"what must be shown as well, with commas between: {', '.join(REQUIRABLE)}",
    )
    parser.add_argument(
        "--clauses", action="store_true", help="print every finding and the verdict on each clause"
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write the report of a bundle that verifies"
    )
    as_json.add_argument(parser)
    parser.set_defaults(handler=handle)


def handle(chosen: argparse.Namespace) -> int:
    """Print what was found; return the exit status.

    0 verified and signed by the key that was named; 2 or 4 the worst finding's; 6 consistent, signer unknown;
    7 something that was required is not there. The folder of a run has no signer: 0 when it is consistent.
    """
    names = required(chosen.require)
    folder = chosen.bundle.is_dir()
    given = next((name for name in _OF_A_BUNDLE if getattr(chosen, name)), None) if folder else None
    if given is not None:
        raise ConfigError(
            "VER-38",
            f"verify --{given}",
            expected="a bundle",
            found="the folder of a run, which nobody signed",
            hint=f"bmwg {'report' if given == 'report' else 'bundle'} {chosen.bundle}",
        )
    key = None
    if chosen.key:
        from bmwg.reports.bundle.signing import load_public  # cryptography takes long to load

        key = load_public(chosen.key)
    verified = verify_folder(chosen.bundle) if folder else _of_bundle(chosen, key)
    lacking = [] if verified.findings else list(unmet(verified, names))
    if chosen.report and not verified.findings:
        from bmwg.reports.bundle.report import write_report_of  # plots take long to load

        write_report_of(chosen.bundle, chosen.report)
    code = 0 if folder or verified.trust == TRUSTED else SIGNER_UNKNOWN
    if verified.findings:
        code = verified.exit_code
    elif lacking:
        code = REQUIREMENT_UNMET
    if chosen.json:
        from bmwg.cli.verified_json import as_data  # only who asks waits for it

        as_json.show("verify", as_data(verified, lacking, code, clauses=chosen.clauses))
        return code
    for line in [*lines(verified, clauses=chosen.clauses), *lacking]:
        print(line)
    return code


def _of_bundle(chosen: argparse.Namespace, key: Any) -> Verification:
    """Verify a bundle; one that a body may have to do with, before that body."""
    from bmwg.reports.submissions.documents import moment_given
    from bmwg.reports.submissions.trust import trust_of
    from bmwg.reports.verify.certified import certified

    _, commit, dirty = toolkit_state()
    return certified(
        chosen.bundle,
        key,
        trust_of(chosen.trust) if chosen.trust else None,
        at=moment_given(chosen.at, "--at") if chosen.at else None,
        reproduction=chosen.reproduction,
        own_commit=None if dirty else commit,
        render=_render,
    )


def _render(run: Path) -> None:
    """Render a run's report; where what draws is not installed, nothing is compared and all is named so."""
    from bmwg.reports.render.page.report import write_report  # plots take long to load

    write_report(run)


def lines(verified: Verification, *, clauses: bool) -> list[str]:
    """Say what verifying found, in printable lines: the verdict, its findings, then what was shown by what.

    Without `clauses` it fits a screen: of many findings by one rule, and of grades that nothing decides, the
    first are told and the rest counted.
    """
    evidence, judgement = verified.evidence, verified.judgement
    said: list[str] = []
    if verified.findings:
        said.append(f"REJECTED: {number_of(len(verified.findings), 'finding')}; {verified.trust}")
        said += _findings(verified.findings, every=clauses)
        said += verified.strangers
        said += standing_lines(verified)
    else:
        said += verified.strangers
    if not verified.findings and evidence is not None and evidence.run is not None:
        answers = f"{len(evidence.outcomes)} outcomes follow from {len(evidence.lines)} trials"
        said.append(f"{_word(verified)}: {answers} of run {shown(evidence.run['run_id'])}{_beside(verified)}")
        said += standing_lines(verified)
        said += [
            verified.trust,
            *who(verified.signature, evidence.submission, evidence.run, _whose(verified)),
        ]
    said += [f"question: {question}" for question in verified.questions]
    sorted_out = shown_of(verified)
    for title, sentences in (
        ("proven from these files alone:", sorted_out.proven),
        ("only stated by who made them:", sorted_out.stated),
        ("not checked:", sorted_out.unchecked),
    ):
        if sentences and evidence is not None:  # of a file that is no bundle nothing was stated
            said += [title, *(f"  - {sentence}" for sentence in sentences)]
    if judgement is not None:
        said += _judged(judgement, clauses=clauses)
    return said


def _findings(findings: Sequence[Finding], *, every: bool) -> list[str]:
    """Return findings in their order; of those by one rule the first few, and how many more there are."""
    said: list[str] = []
    counted: Counter[str] = Counter()
    for finding in findings:
        counted[finding.rule_id] += 1
        if every or counted[finding.rule_id] <= _A_RULE:
            said.append(str(finding))
    left = {rule_id: count - _A_RULE for rule_id, count in counted.items() if count > _A_RULE}
    if left and not every:
        more = ", ".join(f"{count} of {rule_id}" for rule_id, count in left.items())
        said.append(f"and {more}: --clauses prints them all")
    return said


def standing_lines(verified: Verification) -> list[str]:
    """Say how a bundle stands before a body; a folder has no signer, so no level."""
    if verified.standing is None:
        return []
    from bmwg.reports.submissions.standing import lines as told  # the folder of a run needs no cryptography

    return told(verified.standing)


def _whose(verified: Verification) -> str:
    made = verified.standing
    if made is None or not made.owned:
        return "the key that you named"
    return f"a key of {shown(made.owner)} that {shown(made.body)} knows"


def _word(verified: Verification) -> str:
    """Say in a word what was shown: without a signature of somebody that is trusted, only consistency."""
    return "verified" if _of_folder(verified) or verified.trust == TRUSTED else "consistent, signer unknown"


def _of_folder(verified: Verification) -> bool:
    return verified.evidence is not None and isinstance(verified.evidence.files, FolderFiles)


def _beside(verified: Verification) -> str:
    """Say of the parts beside the evidence which were compared with what the evidence gives."""
    said = ""
    if verified.rendered:
        said += f"; rendered anew here, the same: {', '.join(verified.rendered)}"
    if verified.unchecked:
        said += f"; NOT CHECKED, do not open, may say and do anything: {', '.join(verified.unchecked)}"
    if not (verified.rendered or verified.unchecked or _of_folder(verified)):
        said += "; it holds no report"
    return said


def _judged(judgement: Judgement, *, clauses: bool) -> list[str]:
    said = [f"state: {shown(text)}" for text in judgement.state]
    said += [f"rules: {judgement.later_rules}"] if judgement.later_rules else []
    silent = [grade for grade in judgement.grades if grade.grade is Grade.NOT_ASSESSED and not clauses]
    for one in judgement.grades:
        if one in silent:
            continue
        counts = ", ".join(f"{count} {name}" for name, count in one.counts)
        counts = "; ".join(text for text in (counts, one.rests_on) if text)
        said.append(f"{one.document} {one.benchmark}: {one.grade.value}" + (f" ({counts})" if counts else ""))
    if silent:
        said.append(
            f"not assessed: {', '.join(f'{graded.document} {graded.benchmark}'.strip() for graded in silent)}"
        )
    if clauses:
        for verdict in judgement.verdicts:
            texts = "; ".join(
                f"{name} {shown(text)}"
                for name, text in (("expected", verdict.expected), ("found", verdict.found))
                if text
            )
            basis = f" ({verdict.basis.value})" if verdict.basis else ""
            said.append(f"{verdict.benchmark}: {verdict.requirement} {verdict.verdict.value}{basis}: {texts}")
    else:
        tally = Counter(verdict.verdict.value for verdict in judgement.verdicts)
        said.append("clauses: " + (", ".join(f"{n} {name}" for name, n in sorted(tally.items())) or "none"))
    return said
