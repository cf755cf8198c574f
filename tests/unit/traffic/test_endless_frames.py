"""Frames that never stop coming keep the tester from nothing else: from its channel, or a trial's end."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bmwg.drivers.traffic.embedded import build

SOURCES = Path(build.__file__).parent / "src"
# What a part of the tester calls, by names that are the test's own: each time there is one frame more, until
# `most` were taken, by which a loop without an end ends here.
MOST = 2_000_000_000
STANDS = (
    f"#define MOST {MOST}ul\n"
    + """
#include <rte_ethdev.h>
#include <sys/socket.h>
#include "neighbour.h"
#include "ports.h"
struct port ports[PORTS];
unsigned int port_count;
static unsigned long taken, most = MOST;
static uint16_t endless_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t count)
{
	(void)port; (void)queue; (void)frames; (void)count;
	return taken++ < most ? 1 : 0;
}
static ssize_t endless_message(int fd, struct msghdr *message, int flags)
{
	(void)fd; (void)message; (void)flags;
	return taken++ < most ? 60 : -1;
}
static void freed(struct rte_mbuf **frames, unsigned int count) { (void)frames; (void)count; }
#define neighbour_input(port, frame, length) ((void)(port), true)
#define rte_eth_rx_burst endless_burst
#define rte_pktmbuf_free_bulk freed
#undef rte_pktmbuf_mtod
#define rte_pktmbuf_mtod(frame, type) ((type)NULL)
#undef rte_pktmbuf_data_len
#define rte_pktmbuf_data_len(frame) 60
#define rte_get_tsc_hz() 1000000000ull
#define recvmsg endless_message
"""
)
PARTS = {
    "idle": ('#include "trial.c"', "ports[0].attached = true; ports[0].queues = 1; trial_idle_poll();"),
    "beside": ('#include "xdp.c"', "xdp_input(&ports[0]);"),
}


def flags() -> list[str]:
    if not all(shutil.which(tool) for tool in ("cc", "pkg-config")):
        pytest.skip("lacks cc or pkg-config")
    told = subprocess.run(
        ["pkg-config", "--cflags", "libdpdk", "jansson", "libbpf"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if told.returncode:
        pytest.skip("lacks headers of DPDK, jansson or libbpf")
    return told.stdout.split()


@pytest.mark.parametrize("name", PARTS)
def test_frames_without_end_are_left_after_a_while(name: str, tmp_path: Path) -> None:
    part, act = PARTS[name]
    source, made = tmp_path / "part.c", tmp_path / "part"
    main = f'#include <stdio.h>\nint main(void) {{ {act} printf("%lu", taken); return 0; }}'
    source.write_text(f"{STANDS}{part}\n{main}\n")
    words = ["-O2", "-w", "-D_GNU_SOURCE", f'-DXDP_OBJECT="{source}"', f"-I{SOURCES}"]
    # what is not called is left out, and what it calls is looked up by nobody
    words += ["-ffunction-sections", "-Wl,--gc-sections,-z,lazy,--unresolved-symbols=ignore-all", "-no-pie"]
    subprocess.run(["cc", *flags(), *words, source, "-o", made], check=True, timeout=300)
    done = subprocess.run([made], capture_output=True, text=True, timeout=60, check=True)
    assert 0 < int(done.stdout) < MOST
