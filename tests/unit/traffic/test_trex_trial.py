"""The steps of a trial, against a model of TRex's client: counters that move, go back, vanish, or lie."""

import base64
import io
import math
from collections import Counter
from dataclasses import replace

import pytest

from bmwg.drivers.traffic.trex.channel import Recorder, RefusedError, Replay
from bmwg.drivers.traffic.trex.frames import Way
from bmwg.drivers.traffic.trex.trial import TrialRunner, Wait, sizes_of, streams_of
from bmwg.drivers.traffic.watchdog.process import PortSight, Sight
from bmwg.methodology.errors import DriverError
from bmwg.methodology.records import Direction, TrialSpec, Validity
from bmwg.methodology.trial.judging import TrialPolicy, assess

WAYS = tuple(
    Way(
        source_mac=f"02:00:00:00:00:0{side + 1}",
        destination_mac=f"02:00:00:00:00:0{2 - side}",
        source_ip=f"198.18.{side}.2",
        destination_ip=f"198.18.{1 - side}.2",
    )
    for side in (0, 1)
)
SPEC = TrialSpec(frame_octets=64, load_fps=1000, duration_s=1.0)


class Model:
    """TRex's client as it answers: `late` readings pass before all frames are counted."""

    def __init__(self, *, lost=0, late=0, sent=None, spoil=None, fails=None, sending=()):
        self.lost, self.late, self.sent, self.spoil = lost, late, sent, spoil or {}
        self.fails, self.sending = fails, list(sending)
        self.calls, self.streams, self.readings, self.forced = [], {}, 0, None

    def call(self, method, /, *, deadline_s, **arguments):
        self.calls.append(method)
        if method == self.fails:
            raise DriverError("TREX-05", f"TRex's client: {method}", found="its process ended")
        if method == "remove_all_streams":
            self.streams = {}
        elif method == "add_streams":
            for stream in arguments["streams"]:
                self.streams[stream["group"]] = (stream, arguments["ports"][0])
        elif method == "clear_stats":
            self.readings = 0
        elif method == "start":
            self.forced = arguments["force"]
        elif method == "watch":
            return {"sending": self.sending, "waited_ns": 1_003_000_000}
        elif method == "get_stats":
            self.readings += 1
            return self.stats()
        return None

    def stats(self):
        ports = {
            str(port): dict.fromkeys(("opackets", "ipackets", "oerrors", "ierrors"), 0) for port in (0, 1)
        }
        flows, latency = {"global": {}}, {"global": {"old_flow": 0, "bad_hdr": 0}}
        for group, (stream, sender) in self.streams.items():
            sent = (stream["frames"] if self.sent is None else self.sent) if self.readings > 0 else 0
            received = max(0, sent - self.lost) if self.readings > self.late else sent // 2
            ports[str(sender)]["opackets"] += sent
            ports[str(1 - sender)]["ipackets"] += received
            flows[str(group)] = {
                "tx_pkts": {str(sender): sent, str(1 - sender): 0},
                "rx_pkts": {str(sender): 0, str(1 - sender): received},
            }
            errors = {"dup": 0, "out_of_order": 0, "seq_too_high": 0, "seq_too_low": 0, "dropped": 0}
            histogram = {"20": received} if received else {}
            if self.readings > 0:  # a stream that never ran has none
                latency[str(group)] = {
                    "err_cntrs": errors,
                    "latency": {"histogram": histogram, "total_max": 25},
                }
        if self.readings in self.spoil:
            ports["1"]["ipackets"] = self.spoil[self.readings]
        return {"global": {"queue_full": 0}, **ports, "flow_stats": flows, "latency": latency}

    def close(self):
        pass


def runner(client):
    return TrialRunner(client, (0, 1), WAYS, Wait(quiet_s=0.05, limit_s=1.0), sleep=lambda _: None)


def sight(rx=1000, sending_ns=999_000_000, stall_ns=0, tx=1000, tx_dropped=0, pause_ns=1_000_000):
    out = PortSight(
        rx_packets=0,
        rx_dropped=0,
        tx_packets=tx,
        tx_dropped=tx_dropped,
        sending_ns=sending_ns,
        longest_pause_ns=pause_ns,
    )
    into = PortSight(
        rx_packets=rx, rx_dropped=0, tx_packets=0, tx_dropped=0, sending_ns=0, longest_pause_ns=0
    )
    return Sight(stalls_ns={0: stall_ns, 1: 0}, ports={"p0": out, "p1": into})


def judged(model, spec=SPEC, seen=None):
    sent = runner(model).send(spec)
    result = streams_of(spec, sent, ("p0", "p1"), seen or sight(), (0,))
    return result, assess(result, TrialPolicy())


def test_counters_are_read_when_both_sides_stand_still():
    model = Model(lost=10, late=3)  # a plateau shorter than the time for which nothing may move
    result, verdict = judged(model, seen=sight(rx=990))
    assert verdict.validity is Validity.VALID
    assert (result.sent_frames, result.received_frames) == (1000, 990)
    assert model.calls.index("watch") < len(model.calls) - 1 - model.calls[::-1].index("get_stats")
    assert model.calls[-1] == "wait_on_traffic"


@pytest.mark.parametrize(
    ("changes", "forced"),
    [
        ({"load_fps": 812_743}, True),  # RFC 2544 appendix B: the full rate of 10 Gbit/s at 1518 octets
        ({"load_fps": 804_000}, False),
        ({"load_fps": 2_500_000}, True),
        ({"frame_octets": 64, "load_fps": 14_000_000}, False),
        ({"mix_octets": (64, 1518), "load_fps": 1_540_000}, True),
        ({"mix_octets": (64, 1518), "load_fps": 1_520_000}, False),
    ],
)
def test_only_a_load_about_the_line_rate_is_started_against_its_check(changes, forced):
    model = Model()
    spec = replace(SPEC, **{"frame_octets": 1518, "duration_s": 0.01, **changes})
    TrialRunner(model, (0, 1), WAYS, Wait(), lambda _: None, line_bps=10_000_000_000).send(spec)
    assert model.forced is forced
    TrialRunner(model, (0, 1), WAYS, Wait(), lambda _: None).send(spec)
    assert model.forced is False  # TRex named no line rate, and so refuses none


def test_what_trex_does_not_send_is_unsent_not_lost():
    result, verdict = judged(Model(sent=900), seen=sight(rx=900))
    assert (result.streams[0].unsent_frames, result.lost_frames) == (100, 0)
    assert verdict.validity is Validity.SENT_SHORT


def test_a_generator_too_slow_for_the_load_is_not_called_stalled():
    _, verdict = judged(Model(), seen=sight(sending_ns=1_200_000_000, stall_ns=3_000_000))
    assert verdict.validity is Validity.SENT_SHORT
    _, verdict = judged(Model(sent=300, sending=[0]), seen=sight(rx=300, tx=300, stall_ns=40_000_000))
    assert verdict.validity is Validity.SENT_SHORT
    _, verdict = judged(Model(), seen=sight(sending_ns=1_030_000_000, stall_ns=3_000_000))
    assert verdict.validity is Validity.TESTER_STALLED  # ten of its pauses: they may be all there is to it


def test_a_pause_of_the_sender_is_a_stall_though_its_cpu_had_none():
    assert judged(Model(), seen=sight(pause_ns=1_900_000))[1].validity is Validity.VALID
    _, verdict = judged(Model(), seen=sight(pause_ns=2_100_000))
    assert verdict.validity is Validity.TESTER_STALLED
    assert "gap was 1100000 ns" in verdict.reason


def test_what_never_reached_the_interface_is_unsent_though_trex_counts_it():
    result, verdict = judged(Model(lost=50), seen=sight(rx=950, tx=950))
    assert (result.sent_frames, result.streams[0].unsent_frames, result.lost_frames) == (950, 50, 0)
    assert verdict.validity is Validity.SENT_SHORT


def test_interfaces_are_looked_at_while_the_trial_runs_and_not_longer():
    model = Model()

    class Eyes:
        def arm(self):
            model.calls.append("arm")

        def read(self):
            model.calls.append("read")
            return sight()

    sent = runner(model).send(SPEC, Eyes())
    assert sent.sight == sight()
    assert model.calls[model.calls.index("arm") :][:2] == ["arm", "start"]
    assert model.calls[-3:] == ["get_stats", "read", "wait_on_traffic"]


def test_what_the_device_behind_the_interface_had_no_room_for_is_lost():
    result, verdict = judged(Model(lost=50), seen=sight(rx=950, tx=950, tx_dropped=50))
    assert (result.sent_frames, result.lost_frames) == (1000, 50)
    assert verdict.validity is Validity.VALID


def test_a_stretched_burst_is_another_load_than_stated():
    result, verdict = judged(Model(), seen=sight(sending_ns=1_200_000_000))
    assert result.streams[0].effective_duration_ns == 1_200_000_000
    assert verdict.validity is Validity.SENT_SHORT


@pytest.mark.parametrize(
    ("waited_ns", "sending_ns", "expected"),
    [
        (1_049_000_000, 1_000_000_000, Validity.VALID),
        (1_020_000_000, 1_000_000_000, Validity.VALID),
        (1_250_000_000, 1_200_000_000, Validity.SENT_SHORT),
    ],
)
def test_the_pause_that_we_ask_for_is_no_time_of_sending(waited_ns, sending_ns, expected):
    """Cards that TRex has for itself have no interface to watch: known is how long it was waited."""

    class Waited(Model):
        def call(self, method, /, *, deadline_s, **arguments):
            found = super().call(method, deadline_s=deadline_s, **arguments)
            return found | {"waited_ns": waited_ns} if method == "watch" else found

    result, verdict = judged(Waited(), seen=Sight(stalls_ns={0: 0}, ports={}))
    assert result.streams[0].effective_duration_ns == sending_ns
    assert verdict.validity is expected


def test_frames_that_reached_its_interface_and_not_it_are_trexs_own_loss():
    result, verdict = judged(Model(lost=10), seen=sight(rx=1000))
    assert result.streams[0].tester_dropped_frames == 10
    assert verdict.validity is Validity.TESTER_STALLED


def test_a_stall_of_its_cpu_makes_the_trial_invalid():
    _, verdict = judged(Model(), seen=sight(stall_ns=3_000_000))
    assert verdict.validity is Validity.TESTER_STALLED


@pytest.mark.parametrize("value", [-1, math.nan, None, 0.25])
def test_a_counter_that_is_none_makes_a_fault(value):
    result, verdict = judged(Model(spoil={2: value}))
    assert verdict.validity is Validity.FAULT
    assert "ipackets" in verdict.reason
    assert result.sent_frames == 0


def test_a_counter_that_goes_back_makes_a_fault():
    _, verdict = judged(Model(spoil={3: 5}))
    assert verdict.validity is Validity.FAULT
    assert "went back from 1000 to 5" in verdict.reason


@pytest.mark.parametrize(
    "call", ["add_streams", "clear_stats", "start", "watch", "get_stats", "wait_on_traffic"]
)
def test_a_server_lost_at_any_step_is_a_fault_never_a_count(call):
    result, verdict = judged(Model(fails=call))
    assert verdict.validity is Validity.FAULT
    assert result.sent_frames == result.received_frames == 0


def test_what_never_ends_is_stopped():
    model = Model(sent=400, sending=[0])
    _, verdict = judged(model, seen=sight(rx=400))
    assert "stop" in model.calls
    assert verdict.validity is Validity.SENT_SHORT


def test_both_directions_have_a_stream_each():
    model = Model()
    sent = runner(model).send(
        TrialSpec(frame_octets=128, load_fps=10, duration_s=1.0, direction=Direction.BOTH)
    )
    assert [group.sent for group in sent.reading.groups] == [10, 10]
    (forward, _), (reverse, _) = model.streams[1], model.streams[2]
    assert base64.b64decode(forward["frame"])[:6].hex() == "020000000002"
    assert base64.b64decode(reverse["frame"])[:6].hex() == "020000000001"


MIX = TrialSpec(frame_octets=1518, load_fps=1000, duration_s=1.0, mix_octets=(*(64,) * 7, *(594,) * 4, 1518))


def test_a_mix_is_a_stream_for_each_size_and_one_direction_in_the_record():
    model = Model(lost=1)
    result, _ = judged(model, MIX, sight(rx=997))
    shares = {
        len(base64.b64decode(stream["frame"])) + 4: (stream["frames"], stream["load_fps"])
        for stream, _ in model.streams.values()
    }
    assert shares == {64: (585, 585.0), 594: (332, 332.0), 1518: (83, 83.0)}
    (stream,) = result.streams
    assert (stream.sent_frames, stream.lost_frames, stream.latency.frames) == (1000, 3, 997)


@pytest.mark.parametrize("count", [1, 6, 7, 8, 11, 12, 13, 1000])
def test_a_mix_has_every_frame_in_the_sequence_once(count):
    sequence = [MIX.mix_octets[place % 12] for place in range(count)]
    assert sizes_of(MIX, count) == tuple(sorted(Counter(sequence).items()))


def test_what_is_recorded_can_be_replayed():
    transcript = io.StringIO()
    first = runner(Recorder(Model(lost=3, late=2), transcript)).send(SPEC)
    again = Replay(iter(transcript.getvalue().splitlines()))
    assert runner(again).send(SPEC) == first
    assert again.left == 0


def test_a_refusal_is_recorded_as_one():
    class Refusing(Model):
        def call(self, method, /, *, deadline_s, **arguments):
            raise RefusedError("TRexError", "port is owned by another")

    transcript = io.StringIO()
    with pytest.raises(RefusedError):
        Recorder(Refusing(), transcript).call("acquire", deadline_s=1, ports=[0], force=False)
    with pytest.raises(RefusedError, match="owned by another"):
        Replay(iter(transcript.getvalue().splitlines())).call("acquire", deadline_s=1, ports=[0], force=False)
