"""A forwarder in Python between two interfaces, which does to each frame as a test says."""

import socket
import threading
import time

from pyroute2 import netns

ETH_P_ALL = 3
PACKET_OUTGOING = 4


def as_it_came(side, frame):
    return [frame]


class Middle:
    """A namespace that forwards frames between its two interfaces in Python, as `rule` says.

    A machine that takes its CPU away for longer than the tester listens makes it lose frames by no rule:
    `held_up_s` says how long a frame or an empty wait took it at most since `begin`.
    """

    def __init__(self, space, devices):
        self.rule = as_it_came
        self._slowest_s = 0.0
        self._turned = [time.monotonic()] * 2
        self._stop = threading.Event()
        self._ends = []
        self._thread = threading.Thread(target=self._run, args=(space, devices))
        self._ready = threading.Event()
        self._thread.start()
        assert self._ready.wait(10)

    def _run(self, space, devices):
        netns.pushns(space)
        try:
            for device in devices:
                end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
                end.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
                end.bind((device, ETH_P_ALL))
                end.settimeout(0.02)
                self._ends.append(end)
        finally:
            netns.popns()
        self._ready.set()
        left, right = self._ends
        threads = [
            threading.Thread(target=self._pump, args=pair) for pair in ((left, right, 0), (right, left, 1))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for end in self._ends:
            end.close()

    def _pump(self, source, target, side):
        while not self._stop.is_set():
            now = time.monotonic()
            self._slowest_s = max(self._slowest_s, now - self._turned[side])
            self._turned[side] = now
            try:
                frame, address = source.recvfrom(65536)
            except TimeoutError:
                continue
            if address[2] == PACKET_OUTGOING:
                continue
            for out in self.rule(side, frame):
                target.send(out)

    def begin(self):
        self._slowest_s = 0.0

    def held_up_s(self):
        return max(self._slowest_s, *(time.monotonic() - at for at in self._turned))

    def stop(self):
        self._stop.set()
        self._thread.join(10)
        assert not self._thread.is_alive()
