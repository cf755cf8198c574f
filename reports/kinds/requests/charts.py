"""Bar charts of the HTTP experiments, one for each: a bar a hosting form with its 95 % interval, from zero.

Virtual machines have panels of their own beside those of native and containers: without hardware support they
take many times as long, and one scale for both would hide what the documents compare.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bmwg.methodology.answers.repeated import DEPLOYMENTS, within
from bmwg.methodology.kinds.requests.profile import EXPERIMENTS
from bmwg.methodology.kinds.requests.records import FORMS, KIND, SLOW_FORMS, Workload
from bmwg.methodology.records import POD_PREFIX
from bmwg.reports.kinds.repeated.answers import has_answers
from bmwg.reports.kinds.requests.answers import Answered, answers_of, time
from bmwg.reports.kinds.requests.words import accelerator, forms_of, several_proxies, shape, shape_words
from bmwg.reports.render.plots.drawing import INK, SERIES, Plot, draw_plot, label
from bmwg.reports.render.sections.guest import guest_words
from bmwg.reports.render.text import nanoseconds
from bmwg.reports.store import Run

_COLOURS = dict(zip(FORMS, SERIES, strict=False))
_POD_COLOUR = SERIES[len(FORMS)]  # one for all pods: their labels tell the option
_SHORT = {
    "native": "native",
    "docker_routed": "routed",
    "docker_nat": "NAT",
    "vm_full": "emulated",
    "vm_para": "virtio",
    "kubernetes": "k8s pod",
    "kubernetes_service": "k8s Service",
}
_BAR_INCHES, _PANEL_INCHES = 0.24, 0.55


def plot_name(experiment: str) -> str:
    """Name the chart of an experiment."""
    return f"http-{experiment.replace('_', '-')}"


def http_plots(run: Run) -> tuple[Plot, ...]:
    """Draw every experiment that has a number. Raises ConfigError as `answers_of`."""
    if not has_answers(run, KIND):
        return ()
    answers = answers_of(run)
    titles = {entry["id"]: entry.get("title", entry["id"]) for entry in run.profile.get("experiments", [])}
    kinds = kinds_of(run, {answered.spec.form for answered in answers if _bar(answered) is not None})
    made = (
        _chart(experiment, titles.get(experiment, experiment), kinds, guest_words(run), mine)
        for experiment in EXPERIMENTS
        if (mine := [answer for answer in answers if answer.spec.experiment == experiment])
    )
    return tuple(plot for plot in made if plot is not None)


def kinds_of(run: Run, forms: Collection[str]) -> str:
    """Say what executed the machines of these forms; forms without a number in this run say nothing."""
    return "/".join(sorted({accelerator(run, form) for form in SLOW_FORMS & set(forms)}))


def _chart(experiment: str, name: str, kinds: str, guest: str, answers: Sequence[Answered]) -> Plot | None:
    bars = {(shape(o.spec), o.spec.form): bar for o in answers if (bar := _bar(o)) is not None}
    if not bars:
        return None
    used = forms_of(answers)
    columns = [[form for form in used if (form in SLOW_FORMS) is slow] for slow in (False, True)]
    columns = [column for column in columns if column]
    shapes = sorted({shape(o.spec) for o in answers})
    answered = {(shape(o.spec), o.spec.form) for o in answers}
    rows = {
        place: max(sum((place, form) in answered for form in column) for column in columns)
        for place in shapes
    }
    heights = [_PANEL_INCHES + _BAR_INCHES * rows[place] for place in shapes]
    several = several_proxies(answers)
    words = {shape(o.spec): shape_words(o.spec, proxies=several) for o in answers}
    rates = answers[0].spec.workload.is_open_loop
    started = answers[0].spec.workload is Workload.START
    slow_word = f"VM ({kinds})"

    def draw(figure: Any) -> None:
        ratios = {"height_ratios": heights}
        grid = figure.subplots(len(shapes), len(columns), squeeze=False, gridspec_kw=ratios)
        for row, place in enumerate(shapes):
            for column, all_forms in enumerate(columns):
                axes = grid[row][column]
                forms = [form for form in all_forms if (place, form) in answered]
                if not forms:  # nothing of this object was planned on them
                    axes.set_axis_off()
                    continue
                _panel(axes, forms, {form: bars.get((place, form)) for form in forms}, rates=rates)
                kind = slow_word if forms[0] in SLOW_FORMS else ""
                title = ", ".join(word for word in ("" if started else words[place], kind, guest) if word)
                axes.set_title(label(title, 34), size=8.5, loc="left")

    what = (
        "Highest rates with nothing failed or late, requests/s; whiskers end at the lowest with a loss."
        if rates
        else f"Means with 95 % intervals by Student's t{_within(answers)}, from zero."
    )
    several_scales = " Each panel has a scale of its own." if len(shapes) * len(columns) > 1 else ""
    lacking = sum(not answer.measured for answer in answers)
    without = f" {lacking} cells without a number have no bar." if lacking else ""
    size = (5.2, sum(heights) + 0.1)
    return draw_plot(plot_name(experiment), name, f"{what}{several_scales}{without}", size, draw)


def _within(answers: Sequence[Answered]) -> str:
    """Say that whiskers are within the deployments of a bar, where one of them is of no more."""
    told = [answer.values for answer in answers if "mean" in answer.values]
    alike = [one for one in told if within(one["repetitions"], one.get(DEPLOYMENTS))]
    return ", each within the deployments that the table names" if alike else ""


def _short(form: str) -> str:
    pod = f"pod {form.removeprefix(POD_PREFIX)}" if form.startswith(POD_PREFIX) else form
    return _SHORT.get(form, pod)


def _bar(answer: Answered) -> tuple[float, float, float] | None:
    """Return value and both whiskers' lengths, None without a number."""
    if "lossless" in answer.values:
        rate = answer.values["lossless"]
        return float(rate), 0.0, float(answer.values.get("lossy", rate) - rate)
    found = time(answer)
    if found is None:
        return None
    half = found.half_width or 0.0
    return found.mean, min(half, found.mean), half


def _panel(
    axes: Any, forms: Sequence[str], bars: Mapping[str, tuple[float, float, float] | None], *, rates: bool
) -> None:
    from matplotlib.ticker import MaxNLocator

    longest = max((bar[0] + bar[2] for bar in bars.values() if bar), default=1.0)
    for place, form in enumerate(forms):
        bar = bars[form]
        if bar is None:
            axes.text(0, place, " no number", va="center", size=8)
            continue
        value, below, above = bar
        axes.barh(place, value, color=_COLOURS.get(form, _POD_COLOUR), height=0.62)
        if below or above:
            axes.errorbar(
                value, place, xerr=[[below], [above]], color=INK, capsize=2, elinewidth=1, capthick=1
            )
        told = f"{value:.0f}/s" if rates else nanoseconds(value)
        axes.text(value + above + longest * 0.02, place, told, va="center", size=8)
    axes.set_yticks(range(len(forms)), [_short(form) for form in forms])
    axes.set_ylim(len(forms) - 0.4, -0.6)
    axes.set_xlim(0, longest * 1.32)  # room for the numbers
    axes.xaxis.set_major_locator(MaxNLocator(nbins=3))
    axes.xaxis.set_major_formatter(
        lambda value, _: f"{value:g}" if rates or not value else nanoseconds(value)
    )
    if not any(bars.values()):
        axes.set_xticks([])  # a scale of nothing
    axes.tick_params(labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
