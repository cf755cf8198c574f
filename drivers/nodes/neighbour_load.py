"""The program of a neighbour beside frames: it uses up CPU or memory bandwidth, and counts its work.

    neighbour_load.py KIND COUNTS OCTETS CPU [CPU...]

One process for each CPU. `cpu` does arithmetic. `memory` copies OCTETS octets, chunk by chunk, from one
buffer of the process to another, as often read as written; both are touched first, on that CPU. The file
COUNTS has two numbers of 64 bits for each CPU: 1 once it works, and operations. It needs the standard
library alone: it runs where the DUT does, and each process ends with its parent.
"""

from __future__ import annotations

import mmap
import os
import signal
import struct
import sys
from pathlib import Path

ROW = struct.Struct("=QQ")
CHUNK_OCTETS = 1 << 20  # as `methodology/cells/neighbours.py` has it
_STEPS = 10_000


def work(kind: str, counts: memoryview, octets: int, parent: int) -> None:
    """Do operations of a kind until the parent has gone; write each into `counts`."""
    done, place, value = 0, 0, 1
    source, target = (mmap.mmap(-1, octets) if kind == "memory" else None for _ in range(2))
    if source and target:
        for touched in (source, target):
            for page in range(0, octets, mmap.PAGESIZE):
                touched[page] = 1
        read, write = memoryview(source), memoryview(target)
    ROW.pack_into(counts, 0, 1, 0)
    while os.getppid() == parent:
        if source:
            write[place : place + CHUNK_OCTETS] = read[place : place + CHUNK_OCTETS]
            place = (place + CHUNK_OCTETS) % octets
        else:
            for _ in range(_STEPS):
                value = (value * 3 + 1) & 0xFFFFFFFF
        done += 1
        ROW.pack_into(counts, 0, 1, done)


def main(argv: list[str]) -> None:
    """Work on each CPU until SIGTERM."""
    kind, path, octets, cpus = argv[1], Path(argv[2]), int(argv[3]), [int(text) for text in argv[4:]]
    size = ROW.size * len(cpus)
    path.write_bytes(bytes(size))
    with path.open("r+b") as file:
        counts = memoryview(mmap.mmap(file.fileno(), size))
    parent, children = os.getpid(), []
    for number, cpu in enumerate(cpus):
        child = os.fork()
        if child == 0:
            os.sched_setaffinity(0, {cpu})
            work(kind, counts[number * ROW.size : (number + 1) * ROW.size], octets, parent)
            os._exit(0)
        children.append(child)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # each child then has another parent
    for _ in children:
        os.wait()


if __name__ == "__main__":
    main(sys.argv)
