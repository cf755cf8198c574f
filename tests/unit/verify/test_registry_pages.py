"""A registry publishes its own rendering: pages from a bundle's data, and nothing that somebody brought."""

from __future__ import annotations

import shutil
from html.parser import HTMLParser
from pathlib import Path

import honest
import pytest

import bmwg
from bmwg.cli.main import main
from bmwg.reports.registry import Entry, Examined, Finding
from bmwg.reports.registry.check import Checked
from bmwg.reports.registry.index import index_page
from bmwg.reports.registry.pages import entry_page, strange
from bmwg.reports.registry.site import search_page
from bmwg.reports.render.page.report import form_of

PAGE = f"pages/{bmwg.__version__}/example-networks/example-forwarder-4.2.1-quick.html"
BEST = f"pages/{bmwg.__version__}/example-networks/best.html"
README = "# Forwarder\n\n## Reproduce\n\nRun it. <script>alert(1)</script>\n"

pytestmark = pytest.mark.usefixtures("released")


class _Acts(HTMLParser):
    """Collects elements that run or fetch something, and attributes that do."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "iframe", "object", "embed", "img", "link", "base", "form"):
            self.found.append(tag)
        self.found += [name for name, _ in attrs if name.startswith("on") or name in ("src", "srcset")]


def acts(page: str) -> list[str]:
    """Return what in one of our own pages would run or fetch something."""
    return _Acts(page).found


def run(act: str, root: Path, *words: object) -> int:
    return main(["registry", act, str(root), *map(str, words)])


@pytest.fixture(scope="module")
def rendered(
    released: None, place: Path, keys: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return a registry of one bundle with the pages that it rendered."""
    folder = tmp_path_factory.mktemp("registry")
    bundle = honest.submitted(place, "packets", folder / "redacted.bmwg.tar", keys["signer"])
    (folder / "README.md").write_text(README, encoding="ascii")
    root = folder / "registry"
    root.mkdir()
    add = ("--bundle", bundle, "--key", keys["signer.pub"], "--readme", folder / "README.md")
    assert run("add", root, *add) == 0
    assert run("index", root) == 0
    return root


@pytest.fixture
def root(rendered: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(rendered, tmp_path / "registry", symlinks=True))


def test_each_submission_has_a_page_that_neither_acts_nor_reaches_out(root: Path) -> None:
    text = (root / PAGE).read_text("utf-8")
    assert acts(text) == []
    assert "alert" not in text
    for said in ("Example Networks", "made by the registry", "cannot be detected without a challenge"):
        assert said in text
    assert "throughput" in text  # each answer of the run
    assert "passed at" in text
    assert "Content-Security-Policy" in text
    assert f'href="{PAGE}"' in (root / "index.html").read_text("utf-8")


def test_a_page_with_other_figures_is_refused_and_written_anew(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (root / PAGE).read_bytes()
    (root / PAGE).write_bytes(before.replace(b"4.2.1", b"9.9.9"))
    assert run("check", root) == 1
    assert f"REG-17  {PAGE}" in capsys.readouterr().out
    assert run("index", root) == 0
    assert (root / PAGE).read_bytes() == before  # the same each time


def places(root: Path, rendered: Path) -> list[str]:
    files = [*rendered.glob("index.*"), *(path for path in rendered.glob("pages/**/*") if path.is_file())]
    made = {path.relative_to(rendered).as_posix(): path.read_bytes() for path in files}
    return [finding.place for finding in strange(root, lambda: made)]


@pytest.mark.parametrize(
    "name",
    [
        PAGE,
        "index.html",
        "index.md",
        BEST,
        "pages/style.css",
    ],
)
def test_what_somebody_brought_in_place_of_a_page_is_refused(root: Path, rendered: Path, name: str) -> None:
    assert places(root, rendered) == []
    (root / name).write_text("<script>alert(1)</script>", encoding="ascii")
    assert places(root, rendered) == [name]


def test_a_page_that_is_missing_or_a_link_is_named(root: Path, rendered: Path) -> None:
    (root / PAGE).unlink()
    assert places(root, rendered) == [PAGE]
    (root / PAGE).symlink_to(rendered / PAGE)
    assert places(root, rendered) == [PAGE]


def test_a_registry_without_pages_is_not_rendered(tmp_path: Path) -> None:
    (tmp_path / "published").mkdir()
    assert list(strange(tmp_path, lambda: pytest.fail("rendered"))) == []


def test_the_page_of_a_submission_that_is_refused_now_goes(root: Path) -> None:
    (root / "keys" / "example-networks.pem").unlink()
    assert run("index", root) == 1
    assert not (root / PAGE).exists()
    assert PAGE not in (root / "index.html").read_text("utf-8")


def test_nothing_is_written_through_a_link(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(root / "pages")
    (tmp_path / "elsewhere").mkdir()
    (root / "pages").symlink_to(tmp_path / "elsewhere")
    assert run("index", root) == 2
    assert "REG-09" in capsys.readouterr().err
    assert list((tmp_path / "elsewhere").iterdir()) == []


HOSTILE = 'A </title><script>alert(1)</script> `x <http://example.net>`__ |y| .. raw:: html "onload=1'


def test_names_in_a_submission_stay_text(root: Path) -> None:
    folder = next(root.glob("published/*/*/*"))
    seen = Examined(
        findings=(), trusted=True, run_id="r", organization=HOSTILE, product=HOSTILE, version=HOSTILE,
        profile=HOSTILE, said=(HOSTILE,), state=(HOSTILE,),
    )  # fmt: skip
    entry = Entry(folder=folder, toolkit_version=bmwg.__version__, organization="o", name="n", examined=seen)
    assert acts(entry_page(entry).decode("utf-8")) == []
    finding = Finding(rule_id="REG-01", place=HOSTILE, expected=HOSTILE, found=HOSTILE)
    for text in (index_page(Checked(entries=(entry,), findings=(finding,))), search_page([entry])):
        page = form_of(text, "html", "index")
        assert [one for one in acts(page) if one != "an address in href"] == []
        assert 'href="http://example.net"' not in page


def test_the_whole_report_is_written_from_a_bundle_that_verifies(
    root: Path, tmp_path: Path, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, report = next(root.glob("published/*/*/*/submission.bmwg.tar")), tmp_path / "report.html"
    assert main(["verify", str(bundle), "--report", str(report)]) == 6  # nobody named a key
    text = report.read_text("utf-8")
    assert "<svg" in text  # the plots stand inside
    assert acts(text) == []
    report.unlink()
    octets = bytearray(bundle.read_bytes())
    octets[octets.index(b"frames")] ^= 1
    (tmp_path / "changed.tar").write_bytes(octets)
    assert main(["verify", str(tmp_path / "changed.tar"), "--report", str(report)]) == 2
    assert not report.exists()
    assert main(["verify", str(honest.run(place, "packets")), "--report", str(report)]) == 2
    assert "bmwg report" in capsys.readouterr().err
