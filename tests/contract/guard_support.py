"""A plan of seconds with real packets, for tests of what happens to a run when its platform moves."""

SIZES = [64, 128, 256, 512]
TESTS = ("CN-TPUT-1.1", "CN-TPUT-1.3")
PROFILE = {
    "schema": "profile/1.0",
    "name": "quick",
    "title": "A plan of seconds",
    "indicative": True,
    "traffic": {"directions": ["forward"], "frame_formats": ["ipv4-udp"], "flows": [1]},
    "trial": {
        "duration_s": 0.2,
        "min_sent_ratio": 0.99,
        "max_stall_ns": 500_000_000,
        "max_host_stall_ns": 500_000_000,
        "max_steal_ns": 500_000_000,
        "max_repeats": 30,
        "set_aside_host_stalls": True,
        "stall_evidence": "tester",
        "most_set_aside_ratio": 0.5,
        "learning": "deployment",
        "settle_s": 0.0,
        "learning_wait_s": 0.02,
        "drain_s": 0.02,
        "restabilize_s": 0.02,
        "expected_invalid_ratio": 0.3,
    },
    "search": {
        "min_load_fps": 1000,
        "relative_width": 0.6,
        "short_limit": 2,
        "verification_trials": 1,
        "max_reopenings": 2,
        "state_checks": 0,  # of no figure here anybody asks whether it would come again
    },
    "latency": {"duration_s": 0.2, "frame_octets": []},
    "paths": [
        {"path": "wire", "hosting": "none", "function": "none", "networks": "none", "frame_octets": SIZES},
        {
            "path": "pvp",
            "hosting": "pod",
            "function": "kernel-l3",
            "networks": ["bridge"],
            "frame_octets": SIZES,
        },
    ],
    "deviations": [
        {
            "requirement": "RFC2544-4",
            "what": "trials with stalls are set aside and repeated",
            "why": "a plan of seconds on a shared machine",
        },
        {
            "requirement": "RFC2544-23-03",
            "what": "a trial counts when nearly all intended frames were sent",
            "why": "a plan of seconds on a shared machine",
        },
    ],
}
