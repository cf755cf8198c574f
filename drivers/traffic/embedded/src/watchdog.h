/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watchdogs: how long at most was a watched CPU away, taken by the hypervisor or with its interrupts off?
 *
 * Two clocks look at each CPU every 500 us: a real-time thread that sleeps, and a kernel clock that samples in
 * interrupt context. The thread alone would take a CPU that is busy in soft interrupts for one that is away; the
 * kernel clock alone would do so with an idle CPU, on which it does not sample. A stall is the longest time in which
 * neither gave a sign of life.
 *
 * The tester's own CPU never halts, so the kernel clock alone tells there whether it was gone, and nothing of ours runs
 * on it but an interrupt. Throttled, or with samples lost, a clock shows nothing.
 */
#ifndef BMWG_WATCHDOG_H
#define BMWG_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

/* 0, or -1 with errno when a thread or a kernel clock is refused. `busy`: CPUs that never halt. */
int watchdogs_start(const json_t *cpus, bool busy);
/* Armed, they measure; disarmed, they sleep on a condition. Arming clears what they had. */
void watchdogs_arm(bool armed);
/*
 * [{"cpu", "busy", "largest_stall_ns", "absences", "absent_ns", "stalls_over_1ms", "intervals", "throttled", "lost",
 *   "largest_lateness_ns", "wakes", "real_time"}, ...]; absences are those of 0.1 ms and more, intervals the begin and
 * end of the first of them, in turn, in ns since `started_ns` on the machine's monotonic clock.
 */
json_t *watchdogs_json(uint64_t started_ns);

#endif
