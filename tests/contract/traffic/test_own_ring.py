"""What the tester's own receive queue drops is told as its own, and sets a conformance trial aside.

Frames of somebody else fill a packet socket's ring while the tester is stopped. The kernel counts what found
no room at the socket alone: the interface counts it as received.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest
import tester_bed as bed

from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import TrialSpec, Validity
from bmwg.methodology.trial.judging import assess

pytestmark = pytest.mark.quiet

OTHERS = 20_000  # frames; the ring for this size has 8,192 slots
FLOOD = """
import socket, sys
end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
end.bind((sys.argv[1], 0))
frame = bytes(12) + b"\\x88\\xb5" + bytes(46)
for _ in range(int(sys.argv[2])):
    end.send(frame)
"""


@pytest.fixture
def ports(tester):
    with bed.direct("af_packet") as made:
        tester.attach(made)
        yield made
        tester.detach()


def run(tester, duration_s=0.2):
    return tester.run(TrialSpec(frame_octets=1518, load_fps=1_000, duration_s=duration_s))


def test_frames_that_found_no_room_in_the_ring_are_the_testers_own(tester, ports) -> None:
    def flood():
        time.sleep(0.5)
        os.kill(tester.pid, signal.SIGSTOP)
        try:
            space = os.path.basename(ports[0].netns)
            command = [sys.executable, "-c", FLOOD, ports[0].device, str(OTHERS)]
            subprocess.run(["ip", "netns", "exec", space, *command], check=True, timeout=20)
        finally:
            os.kill(tester.pid, signal.SIGCONT)

    quiet = run(tester)
    assert dict(quiet.auxiliary)[f"{ports[1].name}.queue_rx_dropped"] == 0
    assert quiet.streams[0].tester_dropped_frames == 0
    helper = threading.Thread(target=flood)
    helper.start()
    try:
        flooded = run(tester, duration_s=2.0)
    finally:
        helper.join()
    dropped = dict(flooded.auxiliary)[f"{ports[1].name}.queue_rx_dropped"]
    assert 0 < dropped <= OTHERS
    assert flooded.streams[0].tester_dropped_frames == dropped
    lost = flooded.streams[0].lost_frames
    assert lost < dropped
    policy = replace(load_profile("rfc2544").policy, max_stall_ns=10**12)  # else a stall speaks first
    found = assess(flooded, policy)
    if lost:  # a tester that empties its ring before it sends what is due loses none of its own
        assert found.validity is Validity.SENT_SHORT  # where it may have dropped all that was lost
        assert found.reason.startswith(f"the tester's own queue dropped {dropped} frames")
    after = run(tester)
    assert after.streams[0].tester_dropped_frames == 0
