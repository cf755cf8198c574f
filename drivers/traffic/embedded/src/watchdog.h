/* SPDX-License-Identifier: Apache-2.0 */
/* Watchdogs: a real-time thread a CPU that sleeps 500 us and measures how much later it woke. */
#ifndef BMWG_WATCHDOG_H
#define BMWG_WATCHDOG_H

#include <stdbool.h>
#include <jansson.h>

int watchdogs_start(const json_t *cpus);
/* Armed, they measure; disarmed, they sleep on a condition. Arming clears what they had. */
void watchdogs_arm(bool armed);
/* [{"cpu", "largest_stall_ns", "stalls_over_1ms", "wakes", "real_time"}, ...] of the last armed time */
json_t *watchdogs_json(void);

#endif
