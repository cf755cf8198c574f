"""The binary is rebuilt exactly when its source changed."""

import shutil

import pytest

from bmwg.drivers.traffic.embedded import build
from bmwg.methodology.errors import TestbedError


@pytest.fixture
def source(tmp_path):
    if not all(shutil.which(tool) for tool in ("cc", "meson", "ninja", "pkg-config")):
        pytest.skip("lacks cc, meson, ninja or pkg-config")
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "meson.build").write_text("project('t', 'c')\nexecutable('bmwg-tester', 'main.c')\n")
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    return folder


def test_built_once_until_the_source_changes(source, tmp_path):
    cache = tmp_path / "cache"
    first = build.ensure_built(source, cache)
    stamp_ns = first.stat().st_mtime_ns
    assert build.ensure_built(source, cache) == first
    assert first.stat().st_mtime_ns == stamp_ns
    (source / "main.c").write_text("int main(void) { return 1; }\n")
    second = build.ensure_built(source, cache)
    assert second != first
    assert first.exists()
    (source / "main.c").write_text("int main(void) { return 0; }\n")
    assert build.ensure_built(source, cache) == first


def test_broken_source_leaves_no_binary(source, tmp_path):
    (source / "main.c").write_text("int main(void) { return }\n")
    with pytest.raises(TestbedError, match="TST-02"):
        build.ensure_built(source, tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("bmwg-tester"))


def test_missing_tool_names_the_line_that_mends_it(source, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TestbedError, match="TST-01") as raised:
        build.ensure_built(source, tmp_path / "cache")
    assert "apt-get install" in raised.value.hint
