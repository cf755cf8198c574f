"""What a trial names, an act or a modifier, can be written down: the schema takes each name."""

import json
import re
from pathlib import Path

from bmwg.methodology.benchmarks import first_frames, flow_changes, flow_scale, match_action
from bmwg.methodology.measurements.measurement import WithAct
from bmwg.methodology.measurements.registry import measurements

SCHEMA = Path(__file__).resolve().parents[3] / "schemas" / "frames.schema.json"


def pattern(key: str) -> str:
    (found,) = re.findall(rf'"{key}": {{"type": "string", "pattern": ("[^"]+")', SCHEMA.read_text("utf-8"))
    return str(json.loads(found))


def test_every_act_and_every_modifier_of_a_measurement_can_be_written_down() -> None:
    acts = [one.act for one in measurements().values() if isinstance(one, WithAct)]
    assert len(acts) > 3
    assert [name for name in acts if not re.match(pattern("act"), name)] == []
    names = [one.modifier for one in measurements().values() if one.modifier]
    names += [one.modifier for one in match_action.KNOWN.values()]
    names += [one.modifier for one in flow_changes.couplings()]
    names += [flow_scale.modifier(64_000), flow_scale.expiring_modifier(64_000)]
    names += [first_frames.modifier(64_000)]
    assert [name for name in names if not re.match(pattern("modifier"), name)] == []
