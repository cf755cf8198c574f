"""The verb `record`: comparing files, and what is refused."""

from __future__ import annotations

import argparse
import copy
import json

import pytest

from bmwg.cli import record as verb
from bmwg.drivers.platform_record.collect import assemble
from bmwg.methodology.errors import ConfigError


def _run(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    verb.add_parser(parser.add_subparsers())
    chosen = parser.parse_args([str(argument) for argument in arguments])
    code: int = chosen.handler(chosen)
    return code


@pytest.fixture
def files(sample_source, tmp_path):
    record = assemble(sample_source("virtual-machine"), "machine")
    moved = copy.deepcopy(record)
    moved["fields"]["kernel"]["settings"]["value"]["net.ipv4.ip_forward"] = "0"
    moved["fields"]["memory"]["available_octets"]["value"] = 1
    names = {"a": record, "same": record, "moved": moved, "text": "no record", "platform": None}
    names["platform"] = {"schema": "platform/1.0", "run_id": "x", "base": {"before": moved, "after": None}}
    for name, content in names.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "broken").write_text("{")
    return tmp_path


def test_equal_records_differ_in_nothing(files, capsys):
    assert _run("record", "--diff", files / "a", files / "same") == 0
    assert capsys.readouterr().out == "0 change(s)\n"


@pytest.mark.parametrize("other", ["moved", "platform"])
def test_what_differs_is_named_and_the_volatile_only_counted(files, capsys, other):
    assert _run("record", "--diff", files / "a", files / other) == 1
    assert capsys.readouterr().out.splitlines() == [
        "kernel/settings/net.ipv4.ip_forward: 1 -> 0",
        "1 change(s), and 1 in facts that change by themselves",
    ]


@pytest.mark.parametrize("other", ["text", "broken", "gone", "."])
def test_what_is_no_record_is_refused(files, other):
    with pytest.raises(ConfigError, match=r"^REC-08 "):
        _run("record", "--diff", files / "a", files / other)


def test_an_existing_file_is_not_overwritten(files):
    with pytest.raises(ConfigError, match="REC-08"):
        _run("record", "--output", files / "a")


def test_a_record_is_written_redacted_and_the_salt_is_its_owners(files):
    assert _run("record", "--output", files / "new", "--redact", files / "salt") == 0
    assert (files / "salt").stat().st_mode & 0o777 == 0o600
    written = json.loads((files / "new").read_text())
    assert written["fields"]["host"]["hostname"]["value"].startswith("redacted-name-")
    assert _run("record", "--output", files / "again", "--redact", files / "salt") == 0
    again = json.loads((files / "again").read_text())
    assert again["fields"]["host"]["hostname"]["value"] == written["fields"]["host"]["hostname"]["value"]
