"""Every schema is valid JSON Schema 2020-12, and what the project ships fulfils them."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from bmwg.drivers.testbed.file import load_testbed
from bmwg.schemas import load

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(file.name.removesuffix(".schema.json") for file in (ROOT / "schemas").glob("*.schema.json"))
TESTBEDS = sorted((ROOT / "testbeds").glob("*.yaml"))


def test_there_is_something_to_check() -> None:
    assert "testbed" in NAMES
    assert (ROOT / "testbeds" / "embedded.yaml") in TESTBEDS


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_valid(name: str) -> None:
    schema = load(name)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", NAMES)
def test_schema_refuses_what_it_does_not_know(name: str) -> None:
    assert not Draft202012Validator(load(name)).is_valid({"no such key": 1})


@pytest.mark.parametrize("file", TESTBEDS, ids=lambda file: file.name)
def test_shipped_testbed_file_is_accepted(file: Path) -> None:
    assert load_testbed(file).name == file.stem
