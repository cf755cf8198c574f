/* SPDX-License-Identifier: Apache-2.0 */
/* Time: the TSC, calibrated against CLOCK_MONOTONIC_RAW over the life of the process. */
#ifndef BMWG_CLOCK_H
#define BMWG_CLOCK_H

#include <stdint.h>
#include <rte_cycles.h>

void clock_start(void);
/* Cycles per second as known now; better the longer the process lives (about 0.1 ppm after one second). */
double clock_hz(void);
uint64_t clock_ns(uint64_t cycles);

#endif
