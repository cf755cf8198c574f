"""An author's own search and model: held against the truth, and refused by name where one breaks."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bmwg.cli.case_deadline import bounded
from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.search.stepwise import DisturbedError, Procedure
from bmwg.methodology.simulated_devices.algorithms import bisect
from bmwg.methodology.simulated_devices.authored import (
    AuthoredSearch,
    Bounds,
    Space,
    algorithm,
    model_of,
    search_of,
)
from bmwg.methodology.simulated_devices.authored_page import authored_page
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import Claim, HardLimit, Passed
from bmwg.methodology.simulated_devices.markup import FORMATS
from bmwg.methodology.simulated_devices.study import Scene

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "methodology.md"
CLAIM = Claim(loss_ratio=0.0, exceed_ratio=0.0, duration_s=1.0)
MODEL = """
from bmwg.methodology.simulated_devices.device import HardLimit
from bmwg.methodology.simulated_devices.study import Scene

MODEL = Scene(name="mine: a hard limit", device=lambda fps: HardLimit(limit_fps=fps))
"""


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that the command is started in; modules of it are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if getattr(sys.modules[name], "__file__", "") and str(tmp_path) in str(sys.modules[name].__file__):
            del sys.modules[name]


def examples() -> tuple[str, str]:
    """The document's search and its model."""
    search, model = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return str(search), str(model)


def example() -> str:
    return examples()[0]


def test_the_search_of_the_document_is_held_against_every_model(
    beside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (beside / "halves.py").write_text(example(), encoding="utf-8")
    assert main(["validate-method", "--search", "halves:SEARCH", "--cases", "2", "--format", "txt"]) == 0
    page = capsys.readouterr().out
    mine = [line for line in page.splitlines() if "halves, two lossy trials of 10 s" in line]
    assert any(line.startswith("hard limit") and "100.0 %" in line for line in mine)
    assert any(line.startswith("tires by 0.05 % a second") and "2 of 2" in line for line in mine)
    assert any(line.startswith("tester sends short") and "2 tester_limited" in line for line in mine)
    assert any(line.startswith("two states of 60 s") for line in mine)  # devices that mislead
    assert any(line.split()[0] == "8" for line in mine)  # stalls a second


def test_the_model_of_the_document_is_searched_by_the_documents_search(beside: Path) -> None:
    sys.path.append(str(beside))
    for name, text in zip(("halves", "asleep"), examples(), strict=True):
        (beside / f"{name}.py").write_text(text, encoding="utf-8")
    page = authored_page([search_of("halves:SEARCH")], [model_of("asleep:MODEL")], cases=1)
    rows = {form: FORMATS[form](page) for form in ("txt", "md", "xml")}
    first = [line for line in rows["txt"].splitlines() if line.startswith("asleep in its first trial")]
    assert len(first) == 8  # the author's, and the toolkit's seven
    assert "100.0 %" in first[0]
    assert "| asleep in its first trial | halves, two lossy trials of 10 s | yes | 100.0 % |" in rows["md"]
    cells = [cell.text for cell in ElementTree.fromstring(rows["xml"]).iter("td")]
    at = cells.index("asleep in its first trial")
    assert cells[at : at + 4] == [*cells[at : at + 1], "halves, two lossy trials of 10 s", "yes", "100.0 %"]


def test_a_model_of_ones_own_is_searched_by_the_toolkits(
    beside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (beside / "mine.py").write_text(MODEL, encoding="utf-8")
    arguments = ["validate-method", "--model", "mine:MODEL", "--cases", "2"]
    assert main(arguments) == 0
    page = capsys.readouterr().out
    assert page.count("mine: a hard limit") > 5
    assert "buffer of 10,000 frames" not in page
    assert "covered rows hold the truth" in page


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("halves", "MTH-04"),
        ("halves:", "MTH-04"),
        ("nowhere_at_all:SEARCH", "No module named"),
        ("halves:SAERCH", "did you mean halves:SEARCH?"),
        ("halves:WIDTH", "an instance of AuthoredSearch"),
        ("broken:SEARCH", "division by zero"),
        ("halves:halve", "SEARCH = AuthoredSearch("),
        ("nothing:SEARCH", "relative_width between 0 and 1"),
        ("toolkits:SEARCH", "one of the toolkit's"),
    ],
)
def test_what_is_no_search_is_refused_by_name(
    beside: Path, capsys: pytest.CaptureFixture[str], reference: str, said: str
) -> None:
    (beside / "halves.py").write_text(example(), encoding="utf-8")
    (beside / "broken.py").write_text("SEARCH = 1 / 0\n", encoding="utf-8")
    (beside / "nothing.py").write_text(example().replace("WIDTH = 0.01", "WIDTH = 0"), encoding="utf-8")
    (beside / "toolkits.py").write_text(example().replace("halves, two lossy trials of 10 s", bisect().name))
    assert main(["validate-method", "--search", reference, "--cases", "1"]) == 2
    assert said in capsys.readouterr().err


def _for_ever(space: Space) -> Procedure[Bounds]:
    while True:
        yield space.trial(space.min_load_fps, 1.0)


def _raises(space: Space) -> Procedure[Bounds]:
    yield space.trial(space.min_load_fps, 1.0)
    raise KeyError("a load")


def _crossed(space: Space) -> Procedure[Bounds]:
    yield space.trial(space.min_load_fps, 1.0)
    return Bounds(lower_fps=2, upper_fps=1)


def _number(space: Space) -> Procedure[Bounds]:
    yield space.trial(space.min_load_fps, 1.0)
    return 5  # type: ignore[return-value]


def _forgets(space: Space) -> Procedure[Bounds]:  # type: ignore[return]
    yield space.trial(space.min_load_fps, 1.0)


def _half_a_frame(space: Space) -> Procedure[Bounds]:
    yield space.trial(space.min_load_fps, 1.0)
    return Bounds(lower_fps=1.5, upper_fps=2)  # type: ignore[arg-type]


def _asks_for_half(space: Space) -> Procedure[Bounds]:
    yield space.trial(space.min_load_fps + 0.5, 1.0)  # type: ignore[arg-type]
    return Bounds(lower_fps=1, upper_fps=2)


def _yields_a_load(space: Space) -> Procedure[Bounds]:
    yield 100_000  # type: ignore[misc]
    return Bounds(lower_fps=1, upper_fps=2)


def _beyond(space: Space) -> Procedure[Bounds]:
    yield space.trial(space.max_load_fps + 1, 1.0)
    return Bounds(lower_fps=1, upper_fps=2)


def _no_generator(space: Space) -> Bounds:
    return Bounds(lower_fps=1, upper_fps=2)


@pytest.mark.parametrize(
    ("procedure", "said"),
    [
        (_for_ever, "no end"),
        (_raises, "KeyError"),
        (_crossed, "above an upper one"),
        (_number, "it returned int"),
        (_forgets, "it returned nothing"),
        (_half_a_frame, "1.5"),
        (_asks_for_half, "whole numbers from"),
        (_yields_a_load, "it yielded int"),
        (_beyond, "it asked for 1500001"),
        (_no_generator, "this one returned Bounds"),
    ],
)
def test_a_search_that_breaks_is_named_with_its_case(procedure: object, said: str) -> None:
    search = AuthoredSearch(name="mine", claim=CLAIM, relative_width=0.01, procedure=procedure)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^MTH-06 ") as caught:
        algorithm(search).answer(ModelBench(device=HardLimit(limit_fps=100_000), seed=7))
    assert said in str(caught.value)
    assert "seed 7" in str(caught.value)


def _ends(lower_fps: int | None, upper_fps: int | None) -> AuthoredSearch:
    def procedure(space: Space) -> Procedure[Bounds]:
        yield space.trial(space.min_load_fps, 1.0)
        return Bounds(lower_fps=lower_fps, upper_fps=upper_fps)

    return AuthoredSearch(name="mine", claim=CLAIM, relative_width=0.01, procedure=procedure)


def _disturbed(space: Space) -> Procedure[Bounds]:
    yield space.trial(space.min_load_fps, 1.0)
    raise DisturbedError("nothing but noise")


@pytest.mark.parametrize(
    ("search", "wanted"),
    [
        (_ends(1, 2), OutcomeType.MEASURED),
        (_ends(None, 2), OutcomeType.AT_FLOOR),
        (_ends(1, None), OutcomeType.AT_CEILING),
        (
            AuthoredSearch(name="mine", claim=CLAIM, relative_width=0.01, procedure=_disturbed),
            OutcomeType.UNSTABLE,
        ),
    ],
)
def test_an_answer_has_the_type_of_its_bounds(search: AuthoredSearch, wanted: OutcomeType) -> None:
    answer = algorithm(search).answer(ModelBench(device=HardLimit(limit_fps=100_000), seed=1))
    assert answer.type is wanted
    assert answer.trials == 1


def test_the_reference_may_name_an_installed_module(beside: Path) -> None:
    (beside / "nested").mkdir()
    (beside / "nested" / "__init__.py").write_text("", encoding="utf-8")
    (beside / "nested" / "inner.py").write_text(textwrap.dedent(example()), encoding="utf-8")
    sys.path.append(str(beside))
    assert search_of("nested.inner:SEARCH").relative_width == 0.01


def _loops(space: Space) -> Procedure[Bounds]:
    while True:
        try:
            if space.min_load_fps < 0:
                yield space.trial(1, 1.0)
        except Exception:
            continue


def test_a_search_that_loops_without_a_trial_is_ended_and_named() -> None:
    search = AuthoredSearch(name="mine", claim=CLAIM, relative_width=0.01, procedure=_loops)
    with pytest.raises(ConfigError, match=r"^MTH-06 ") as caught:
        bounded(0.2)(algorithm(search)).answer(ModelBench(device=HardLimit(limit_fps=100_000), seed=7))
    assert "after 0 trials" in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": " "}, "a name"),
        ({"relative_width": 0.0}, "relative_width"),
        ({"trials_to_fail": 0}, "trials_to_fail"),
        ({"shortest_s": 0.0}, "shortest_s"),
        ({"claim": Claim(loss_ratio=1.0, exceed_ratio=0.0, duration_s=1.0)}, "loss_ratio"),
        ({"claim": Claim(loss_ratio=0.0, exceed_ratio=1.0, duration_s=1.0)}, "exceed_ratio"),
        ({"claim": Claim(loss_ratio=0.0, exceed_ratio=0.0, duration_s=0.0)}, "duration_s"),
        ({"procedure": lambda: None}, "procedure(space)"),
        ({"procedure": 5}, "procedure(space)"),
    ],
)
def test_a_search_that_claims_nothing_is_refused(changed: dict[str, Any], said: str) -> None:
    settings = {"name": "mine", "claim": CLAIM, "relative_width": 0.01, "procedure": _raises}
    with pytest.raises(ConfigError, match=r"^MTH-05 ") as caught:
        AuthoredSearch(**{**settings, **changed})
    assert said in str(caught.value)


_NOTHING = Passed(received=0)


class _Model:
    """A device that says whatever it is told to say."""

    def __init__(self, passed: Any = _NOTHING, truth: Any = 5.0) -> None:
        self.passed, self.truth = passed, truth

    def passes(self, frames: int, duration_s: float, dice: object) -> Any:
        return self.passed() if callable(self.passed) else self.passed

    def truth_fps(self, claim: Claim) -> Any:
        return self.truth


@pytest.mark.parametrize(
    ("device", "said"),
    [
        (lambda fps: _Model(passed=None), "NoneType"),
        (lambda fps: _Model(passed=lambda: 1 / 0), "division by zero"),
        (lambda fps: _Model(passed=Passed(received=-1)), "received=-1"),
        (lambda fps: _Model(passed=Passed(received=10**12)), "received=1000000000000"),
        (lambda fps: _Model(truth=-1.0), "-1.0"),
        (lambda fps: _Model(truth="much"), "much"),
        (lambda fps: object(), "passes and truth_fps"),
        (lambda: None, "TypeError"),
    ],
)
def test_a_model_that_breaks_is_named_and_gives_no_answer(device: Callable[..., Any], said: str) -> None:
    with pytest.raises(ConfigError, match=r"^MTH-07 ") as caught:
        authored_page([], [Scene(name="mine", device=device)], cases=1)
    assert said in str(caught.value)
    assert "mine" in str(caught.value)


def test_a_name_stands_for_one_search_and_one_model() -> None:
    twice = [Scene(name="mine", device=lambda fps: HardLimit(limit_fps=fps))] * 2
    ours = [Scene(name="hard limit", device=lambda fps: HardLimit(limit_fps=fps))]
    for models in (twice, ours):
        with pytest.raises(ConfigError, match=r"^MTH-05 "):
            authored_page([], models, cases=1)
