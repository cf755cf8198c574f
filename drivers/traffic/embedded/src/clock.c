/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "clock.h"

struct instant {
	uint64_t cycles;
	uint64_t ns;
};

static struct instant origin;
static double hz;

/* One pair of readings; the tightest of several, so that an interrupt between the two does not spoil it. */
static struct instant read_pair(void)
{
	struct instant best = {0, 0};
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < 16; i++) {
		struct timespec now;
		uint64_t before = rte_rdtsc_precise();
		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
		uint64_t after = rte_rdtsc_precise();

		if (after - before < narrowest) {
			narrowest = after - before;
			best.cycles = before + (after - before) / 2;
			best.ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
		}
	}
	return best;
}

void clock_start(void)
{
	origin = read_pair();
	hz = (double)rte_get_tsc_hz();
}

double clock_hz(void)
{
	struct instant now = read_pair();

	/* Below 0.2 s the pair's own width (about 50 ns) would exceed a quarter of a ppm. */
	if (now.ns - origin.ns > 200000000u)
		hz = (double)(now.cycles - origin.cycles) * 1e9 / (double)(now.ns - origin.ns);
	return hz;
}

uint64_t clock_ns(uint64_t cycles)
{
	return (uint64_t)((double)cycles * 1e9 / hz + 0.5);
}
