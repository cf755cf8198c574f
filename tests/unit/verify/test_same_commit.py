"""At the run's own commit verdicts and report come out octet for octet; elsewhere no grade is believed."""

from __future__ import annotations

import json

import mutations
import pytest
import replayable

from bmwg.cli.main import main
from bmwg.reports.bundle.archive import BESIDE_REPORT
from bmwg.reports.bundle.make import folder_evidence, make_bundle
from bmwg.reports.render.page.report import write_report
from bmwg.reports.store.canonical import canonical
from bmwg.reports.verify import verify as module
from bmwg.reports.verify.verify import verify_bundle


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """Return a bundle with the report of its run."""
    folder = replayable.make_run(tmp_path_factory.mktemp("results"))
    write_report(folder)
    path = folder.parent / "b.tar"
    return make_bundle(folder, path, evidence=folder_evidence(folder), findings=[])


def verified(path, commit=replayable.COMMIT):
    return verify_bundle(path, own_commit=commit, render=write_report)


def changed(reported, tmp_path, **parts):
    path = tmp_path / "b.tar"
    path.write_bytes(mutations.packed(mutations.rehashed(mutations.parts_of(reported) | parts)))
    return path


def rules(verification):
    return {finding.rule_id for finding in verification.findings}


def test_the_report_is_rendered_anew(reported):
    found = verified(reported)
    assert found.findings == ()
    assert not any("rendered" in note for note in found.notes)


def test_an_edited_report_is_caught_at_the_same_commit(reported, tmp_path):
    text = mutations.parts_of(reported)["report.rst"]
    path = changed(reported, tmp_path, **{"report.rst": text.replace(b"frames/s", b"Frames/s", 1)})
    assert rules(verified(path)) == {"VER-24"}
    other = verified(path, commit="f" * 40)
    assert other.findings == ()
    assert any("not rendered anew" in note for note in other.notes)


@pytest.mark.parametrize("page", BESIDE_REPORT)
def test_a_page_beside_the_report_is_rendered_anew_as_well(reported, tmp_path, page):
    parts = mutations.parts_of(reported)
    assert page in parts or page in ("report-matrices.html", "report-validity.html")
    other = changed(reported, tmp_path, **{page: b"<html>another</html>"})
    assert rules(verified(other)) == {"VER-24"}
    elsewhere = verified(other, commit="f" * 40)
    assert page in elsewhere.unchecked


def test_a_long_run_is_not_rendered(reported, monkeypatch):
    monkeypatch.setattr(module, "MAX_RENDERED_TRIALS", 3)
    found = verified(reported)
    assert found.findings == ()
    assert any("more than 3 trials" in note for note in found.notes)


def with_manifest(reported, tmp_path, change):
    manifest = json.loads(mutations.parts_of(reported)["manifest.json"])
    change(manifest)
    path = tmp_path / "b.tar"
    parts = mutations.parts_of(reported) | {"manifest.json": canonical(manifest).encode("ascii")}
    path.write_bytes(mutations.packed(parts))
    return path


def better_grade(manifest):
    manifest["grades"][0]["grade"] = "unconditionally compliant"


def better_verdict(manifest):
    manifest["verdicts"][0]["verdict"] = "met"


def no_state(manifest):
    manifest["state"] = []


@pytest.mark.parametrize("change", [better_grade, better_verdict, no_state])
def test_edited_verdicts_are_caught_at_the_same_commit(reported, tmp_path, change):
    assert rules(verified(with_manifest(reported, tmp_path, change))) == {"VER-23"}


def test_a_better_grade_is_caught_at_any_commit(reported, tmp_path):
    assert rules(verified(with_manifest(reported, tmp_path, better_grade), commit=None)) == {"VER-23"}


def test_what_another_version_judged_is_only_noted(reported, tmp_path):
    found = verified(with_manifest(reported, tmp_path, better_verdict), commit=None)
    assert found.findings == ()
    assert any("another version" in note for note in found.notes)
    assert "simulated: no frame was sent" in found.judgement.state


def test_a_bundle_whose_report_is_older_than_its_deviations_is_taken_away(tmp_path, monkeypatch, capsys):
    folder = replayable.make_run(tmp_path / "results")
    write_report(folder)
    (folder / "deviations.yaml").write_text(
        "schema: deviations/1.0\n"
        "deviations: [{requirement: RFC2544-9.1, what: three sizes, why: no others here, by: the lab}]\n"
    )
    monkeypatch.setattr("bmwg.cli.bundle.toolkit_state", lambda: ("", replayable.COMMIT, False))
    bundle = tmp_path / "b.tar"
    assert main(["bundle", str(folder), "--output", str(bundle)]) == 2
    said = capsys.readouterr().err
    assert "BND-09" in said
    assert "VER-24" in said
    assert not bundle.exists()
    write_report(folder)
    assert main(["bundle", str(folder), "--output", str(bundle)]) == 0
