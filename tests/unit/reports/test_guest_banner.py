"""A run inside a guest says so before its first number, in every form, plot and comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import made_run
import pytest
from made_parts import header

from bmwg.reports.compare import Side, compare, comparison_page
from bmwg.reports.kinds.requests.words import form_words
from bmwg.reports.render.facts import facts
from bmwg.reports.render.forms.rst import restructured
from bmwg.reports.render.page.report import FILES, write_form
from bmwg.reports.render.page.summary import summary_lines
from bmwg.reports.render.plots.plots import plots
from bmwg.reports.render.sections.results import banner
from bmwg.reports.store import Run, RunStore, read_run

TCG = "Virtual machine under TCG: function, never a rate."


def in_guest(results: Path, accelerator: str | None, *, name: str = "made") -> Path:
    """A realistic run of the packet suites that was made in a guest."""
    folder = made_run.realistic_run(results, name, drivers=(machine(accelerator),))
    assert read_run(folder).drivers[0]["name"] == "qemu guest"
    return folder


def machine(accelerator: str | None) -> dict[str, Any]:
    return {"name": "qemu guest", "kind": "qemu", "accelerator": accelerator, "guest_kernel": "6.1.0-test"}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in a guest; the page and its text are written at once."""
    folder = in_guest(tmp_path_factory.mktemp("told"), "tcg")
    write_form(folder, "html")
    return folder


@pytest.mark.parametrize("form", FILES)
def test_every_form_says_so_before_the_first_number(told: Path, form: str) -> None:
    file = told / FILES[form]
    text = (file if file.exists() else write_form(told, form)).read_text(encoding="utf-8")
    text = " ".join(text.replace("\\", "").split())
    assert text.index(TCG) < text.index("answers from")
    assert text.count(TCG) == 1


def quiet(results: Path, accelerator: str | None) -> Run:
    """A run without an answer, made in a guest."""
    with RunStore.create(
        results, "quiet", header(profile={"name": "full", "deviations": []}, drivers=(machine(accelerator),))
    ) as store:
        pass
    return read_run(store.folder)


@pytest.mark.parametrize(
    ("accelerator", "begins"),
    [
        ("tcg", TCG),
        ("kvm", "Virtual machine under KVM: the run was made inside a guest,"),
        (None, "Virtual machine under an accelerator not recorded: function, never a rate."),
        ("hvf", "Virtual machine under HVF: function, never a rate."),
    ],
)
def test_what_is_not_known_to_be_kvm_is_no_rate(tmp_path: Path, accelerator: str, begins: str) -> None:
    run = quiet(tmp_path, accelerator)
    (first, sentence), *others = banner(facts(run))
    assert (first, [kind for kind, _ in others]) == ("guest", ["fine"])
    assert sentence.startswith(begins)
    assert sentence.endswith("Kernel of the guest: 6.1.0-test.")
    assert summary_lines(facts(run))[0] == sentence


def test_each_hosting_form_is_named_with_its_guest(tmp_path: Path) -> None:
    words = form_words(quiet(tmp_path, "tcg"))
    assert words["native"] == "native (guest under TCG)"
    assert all(word.endswith("(guest under TCG)") for word in words.values())


def test_each_plot_is_named_with_its_guest(told: Path) -> None:
    drawn = plots(facts(read_run(told)))
    assert drawn
    for plot in drawn:
        assert plot.title.endswith("(guest under TCG)")
        assert "(guest under TCG)</title>" in plot.svg


def test_a_comparison_of_runs_in_guests_says_so(tmp_path: Path) -> None:
    sides = [
        Side(name=name, runs=(read_run(in_guest(tmp_path, "tcg", name=f"made-{name}")),)) for name in "AB"
    ]
    page = restructured(comparison_page(compare(sides))).replace("\\", "")
    assert page.count(TCG) == 1
    assert page.index(TCG) < page.index("Cell by cell")
