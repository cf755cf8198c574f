"""Records of samples, and what one says of a fact."""

from __future__ import annotations

from bmwg.drivers.platform_record.collect import assemble
from bmwg.methodology.record.facts import facts


def record_of(sample_source, name, **options):
    return assemble(sample_source(name, **options), "machine")


def value_of(record, path):
    found = dict(facts(record["fields"]))[path]
    assert "value" in found, f"{path}: {found}"
    return found["value"]


def not_value(record, path, kind):
    found = dict(facts(record["fields"]))[path]
    assert kind in found, f"{path}: {found}"
    return found[kind]
