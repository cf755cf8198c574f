"""Good inputs, from which the others are made."""

import struct

from bmwg.drivers.api.protocols import TesterPort
from bmwg.methodology.records import TrialSpec

COUNTERS = {"queue_rx_dropped": 0, "queue_tx_refused": 0, "queue_tx_sent": 4}
STREAM = {
    **dict.fromkeys(("duplicate_frames", "reordered_frames", "corrupt_frames", "foreign_frames"), 0),
    **dict.fromkeys(
        ("stale_frames", "beyond_window_frames", "backpressure_bursts", "broadcast_sent_frames"), 0
    ),
    "intended_frames": 4,
    "sent_frames": 4,
    "received_frames": 3,
    "largest_burst_frames": 1,
    "largest_lateness_ns": 9,
    "effective_duration_ns": 1000,
    "latency": {"buckets": [[1, 2, 2], [3, 4, 1]], "sum_ns": 7, "min_ns": 1, "max_ns": 4},
    "losses": {
        "longest": [{"first_frame": 2, "frames": 1, "before_ns": 5, "after_ns": None}],
        "runs": 1,
        "first_received_frames": 3,
        "reduced_at_ns": None,
        "last_lost_ns": 7,
    },
}
WATCHDOG = {
    **dict.fromkeys(("absences", "absent_ns", "throttled", "lost"), 0),
    "cpu": 1,
    "busy": False,
    "largest_stall_ns": 17,
    "intervals": [3, 9],
}
LANE = {
    "sent_frames": 1,
    "received_frames": 1,
    "handed_frames": 0,
    "cpu_ns": 1000,
    "passes": 7,
    "largest_gap_ns": 5,
}
TRIAL = {
    "largest_gap_ns": 5,
    "port_counters_before": [dict.fromkeys(COUNTERS, 0)] * 2,
    "port_counters": [COUNTERS, COUNTERS],
    "streams": [STREAM, None],
    "unassigned_frames": [0, 0],
    "link_mbps": [0, 0],
    "wall_time_ns": 2000,
    "residual_wait_ns": 1000,
    "aborted": False,
    "gaps_over_1ms": 0,
    "loop_passes": 7,
    "no_buffer_events": 0,
    "real_time": True,
    "extras": [
        {
            "port": 0,
            "sent_frames": 1,
            "answered_frames": 1,
            "verified_frames": 1,
            "first_after_frames": 0,
            "least_between_ns": 0,
            "most_between_ns": 0,
        }
    ],
    "watchdogs": [WATCHDOG],
    "lanes": [LANE, LANE],
}
PORTS = tuple(TesterPort(name=name, io="af_packet", device=name) for name in ("p0", "p1"))
SPEC = TrialSpec(frame_octets=64, load_fps=4, duration_s=1.0)
CNI_RESULTS = (
    {
        "cniVersion": "1.0.0",
        "interfaces": [{"name": "eth0", "mac": "02:00:00:00:00:01", "sandbox": "/proc/1/ns/net"}],
        "ips": [{"address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 0}],
        "routes": [{"dst": "0.0.0.0/0", "gw": "10.1.0.1"}],
        "dns": {"nameservers": ["10.1.0.1"]},
    },
    {
        "cniVersion": "0.2.0",
        "ip4": {"ip": "10.1.0.5/16", "gateway": "10.1.0.1", "routes": [{"dst": "0.0.0.0/0"}]},
    },
)
CONFLIST = {
    "cniVersion": "1.0.0",
    "name": "fuzz",
    "plugins": [{"type": "bridge", "ipam": {"type": "static"}}],
}


_TREX_TCP = (
    "connattempt",
    "accepts",
    "connects",
    "closed",
    "sndbyte",
    "rcvackbyte",
    "rcvbyte",
    "rcvtotal",
    "drops",
)
_TREX_HTTP_SIDE = {f"tcps_{name}": 3 for name in _TREX_TCP} | {
    f"user_counter_{letter}": 1 for letter in "ABCD"
}
TREX_HTTP = {"client": _TREX_HTTP_SIDE, "server": _TREX_HTTP_SIDE}

TREX_PORT = {"opackets": 9, "ipackets": 8, "oerrors": 0, "ierrors": 0}
TREX_STATS = {
    "0": TREX_PORT,
    "1": TREX_PORT,
    "global": {"queue_full": 0},
    "flow_stats": {"7": {"rx_pkts": {"1": 8}, "tx_pkts": {"0": 9}}},
    "latency": {
        "global": {"old_flow": 0, "bad_hdr": 0},
        "7": {
            "err_cntrs": {"dup": 0, "out_of_order": 0, "seq_too_high": 0, "seq_too_low": 0},
            "latency": {"histogram": {"0": 5, "100": 3}, "total_max": 180},
        },
    },
}
SIGHT = {
    "watchdogs": [WATCHDOG],
    "ports": [
        {"interface": "p0", "rx_packets": 1, "rx_dropped": 0, "tx_packets": 2, "tx_dropped": 0}
        | {"sending_ns": 5, "longest_pause_ns": 3}
    ],
}
QMP = (
    {"QMP": {"version": {"qemu": {"micro": 2, "minor": 2, "major": 7}, "package": ""}, "capabilities": []}},
    {"return": {}, "id": "__qmp#00000"},
    {"event": "RESET", "data": {}, "timestamp": {"seconds": 1, "microseconds": 2}},
    {"return": {"status": "running"}, "id": "__qmp#00001"},
)
QCOW2 = struct.pack(
    ">4sIQIIQIIQQIIQQQQII", b"QFI\xfb", 3, 0, 0, 16, 8 << 20, 0, 1, 112, 0, 0, 0, 0, 0, 0, 0, 4, 104
).ljust(512, b"\0")
