/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watchdogs: how long at most was a watched CPU away, taken by the hypervisor or with its interrupts off?
 *
 * Two clocks look at each CPU every 500 us: a real-time thread that sleeps, and a kernel clock that samples in
 * interrupt context. The thread alone would take a CPU that is busy in soft interrupts for one that is away; the
 * kernel clock alone would do so with an idle CPU, on which it does not sample. A stall is the longest time in which
 * neither gave a sign of life.
 */
#ifndef BMWG_WATCHDOG_H
#define BMWG_WATCHDOG_H

#include <stdbool.h>
#include <jansson.h>

/* 0, or -1 with errno when a thread or a kernel clock is refused. */
int watchdogs_start(const json_t *cpus);
/* Armed, they measure; disarmed, they sleep on a condition. Arming clears what they had. */
void watchdogs_arm(bool armed);
/* [{"cpu", "largest_stall_ns", "largest_lateness_ns", "stalls_over_1ms", "wakes", "real_time"}, ...] */
json_t *watchdogs_json(void);

#endif
