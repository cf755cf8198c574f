/* SPDX-License-Identifier: Apache-2.0 */
/* Time: the TSC, calibrated against CLOCK_MONOTONIC_RAW over the life of the process. */
#ifndef BMWG_CLOCK_H
#define BMWG_CLOCK_H

#include <stdint.h>
#include <rte_atomic.h>
#include <rte_cycles.h>

void clock_start(void);
/* Cycles per second as known now; better the longer the process lives (about 0.1 ppm after one second). */
double clock_hz(void);
uint64_t clock_ns(uint64_t cycles);

/*
 * Now, read after the frames before it are in hand. A CPU may read its clock while it still waits for what the other CPU
 * wrote: the frame is then stamped before it came, and, if it took less than that wait, before it left.
 */
static inline __attribute__((always_inline)) uint64_t clock_after_frames(void)
{
	rte_rmb();
	return rte_rdtsc();
}

#endif
