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

OTHERS = 20_000  # frames; a ring for this size has 8,192 slots
# of so many flows that the kernel spreads them over the rings of all lanes; none has a signature
FLOOD = """
import socket, struct, sys
end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
end.bind((sys.argv[1], 0))
ends = bytes([198, 18, 0, 5, 198, 19, 0, 5])
head = bytes(12) + struct.pack("!HBBHHHBBH", 0x0800, 0x45, 0, 46, 0, 0, 64, 17, 0) + ends
for number in range(int(sys.argv[2])):
    end.send(head + struct.pack("!HHHH", 0xC020 + number % 1000, 7, 26, 0) + bytes(18))
"""


@pytest.fixture(params=["tester", "two_lanes"])
def attached(request):
    """Give a tester of one lane or two, with its ports on a veth pair."""
    running = request.getfixturevalue(request.param)
    with bed.direct("af_packet") as made:
        running.attach(made)
        yield running, made
        running.detach()


def run(tester, duration_s=0.2):
    return tester.run(TrialSpec(frame_octets=1518, load_fps=1_000, duration_s=duration_s))


def test_frames_that_found_no_room_in_the_ring_are_the_testers_own(attached) -> None:
    tester, ports = attached

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
    # in the rings of all lanes: each of the others came, or found no room
    assert dropped == OTHERS - flooded.streams[0].corrupt_frames + lost
    policy = replace(load_profile("rfc2544").policy, max_stall_ns=10**12)  # else a stall speaks first
    found = assess(flooded, policy)
    if lost:  # a tester that empties its ring before it sends what is due loses none of its own
        assert found.validity is Validity.SENT_SHORT  # where it may have dropped all that was lost
        assert found.reason.startswith(f"the tester's own queue dropped {dropped} frames")
    after = run(tester)
    assert after.streams[0].tester_dropped_frames == 0
