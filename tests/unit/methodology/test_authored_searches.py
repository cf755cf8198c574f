"""An author's own search and model: held against the truth, and refused by name where one breaks."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.search.stepwise import DisturbedError, Procedure
from bmwg.methodology.simulated_devices.authored import AuthoredSearch, Bounds, Space, algorithm, search_of
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import Claim, HardLimit

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


def example() -> str:
    (block,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    return str(block)


def test_the_search_of_the_document_is_held_against_every_model(
    beside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (beside / "halves.py").write_text(example(), encoding="utf-8")
    assert main(["validate-method", "--search", "halves:SEARCH", "--cases", "3", "--format", "txt"]) == 0
    page = capsys.readouterr().out
    mine = [line for line in page.splitlines() if "halves, two lossy trials of 10 s" in line]
    assert any(line.startswith("hard limit") and "100.0 %" in line for line in mine)
    assert any(line.startswith("tires by 0.05 % a second") and "3 of 3" in line for line in mine)
    assert any(line.startswith("tester sends short") and "3 tester_limited" in line for line in mine)


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
    ],
)
def test_what_is_no_search_is_refused_by_name(
    beside: Path, capsys: pytest.CaptureFixture[str], reference: str, said: str
) -> None:
    (beside / "halves.py").write_text(example(), encoding="utf-8")
    (beside / "broken.py").write_text("SEARCH = 1 / 0\n", encoding="utf-8")
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


@pytest.mark.parametrize(
    ("procedure", "said"),
    [(_for_ever, "no end"), (_raises, "KeyError"), (_crossed, "above an upper one"), (_number, "int")],
)
def test_a_search_that_breaks_is_named_with_its_case(procedure: object, said: str) -> None:
    search = AuthoredSearch(name="mine", claim=CLAIM, relative_width=0.01, procedure=procedure)  # type: ignore[arg-type]
    with pytest.raises(ConfigError) as caught:
        algorithm(search).answer(ModelBench(device=HardLimit(limit_fps=100_000), seed=7))
    assert caught.value.error_id == "MTH-06"
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
