"""What a real TRex server said, replayed: the driver makes the same calls and reads the same counts."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from trex_walk import TRIALS, walk

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.traffic.trex.channel import Replay
from bmwg.drivers.traffic.trex.config import TrexConfig, TrexOptions
from bmwg.methodology.errors import DriverError
from bmwg.methodology.records import Direction

TRANSCRIPT = Path(__file__).parents[2] / "data" / "trex" / "walk-3.08.jsonl"
PORTS = tuple(
    TesterPort(name=f"tester/p{side}", io="af_packet", device=f"p{side}", ipv4=f"198.18.{side}.2/24")
    for side in (0, 1)
)


def config(tmp_path):
    return TrexConfig(
        folder=tmp_path,
        options=TrexOptions(),
        cpus=(0,),
        watch_cpus=(1,),
        run_dir=tmp_path,
        drain_quiet_s=0.1,
    )


def lines():
    return TRANSCRIPT.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    replay = Replay(iter(lines()))
    done = walk(replay, config(tmp_path_factory.mktemp("trex")), PORTS, sleep=lambda _: None)
    assert replay.left == 0
    return done


def test_the_server_is_the_release_that_the_transcript_is_named_after(found):
    assert found.versions["server"] == "3.08"
    assert found.versions["port_drivers"] == ["net_af_packet"] * 2


@pytest.mark.parametrize("name", TRIALS)
def test_every_frame_of_a_wire_is_read_from_what_the_server_said(found, name):
    sent, spec = found.trials[name], TRIALS[name]
    ways = 2 if spec.direction is Direction.BOTH else 1
    assert sent.fault is None
    assert sent.drained
    assert sum(group.sent for group in sent.reading.groups) == ways * spec.intended_frames
    for group in sent.reading.groups:
        assert group.received == group.sent == group.latency.frames
        assert group.duplicates == group.out_of_order == 0
        assert group.latency.buckets[0][1] - group.latency.buckets[0][0] == 999  # whole microseconds


def test_counts_are_those_in_the_text(found):
    """Read once more by other means: the last statistics before the plain trial's end."""
    entries = [json.loads(line) for line in lines()]
    ends = [place for place, entry in enumerate(entries) if entry["call"] == "wait_on_traffic"]
    last = entries[ends[1] - 1]  # the first is that of the learning frames
    assert last["call"] == "get_stats"
    flows = last["result"]["flow_stats"]["1"]
    (group,) = found.trials["plain"].reading.groups
    assert (flows["tx_pkts"]["0"], flows["rx_pkts"]["1"]) == (group.sent, group.received)


@pytest.mark.parametrize("lost", ["start", "watch", "get_stats", "wait_on_traffic"])
def test_a_server_that_is_lost_there_gives_a_fault(tmp_path, lost):
    entries = [json.loads(line) for line in lines()]
    place = [number for number, entry in enumerate(entries) if entry["call"] == lost][1]
    entries[place] = {**entries[place], "gone": "the client's process ended"}
    kept = [json.dumps(entry) for entry in entries[: place + 1]]
    with pytest.raises(DriverError, match="TREX-07"):  # after the fault nothing more was recorded
        walk(Replay(iter(kept)), config(tmp_path), PORTS, sleep=lambda _: None)
