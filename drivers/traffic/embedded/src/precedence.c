/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "precedence.h"

#define BUDGET_SHARE 0.5 /* of what real-time threads may use at a stretch: the trial before may have used some */

/*
 * Where the kernel groups tasks by session (autogroup), niceness counts within a group only, so the group gets it as
 * well; a session of our own keeps the parent's out of it.
 */
void precedence_take(void)
{
	FILE *group;

	setsid();
	setpriority(PRIO_PROCESS, 0, -20);
	group = fopen("/proc/self/autogroup", "we");
	if (group) {
		fputs("-20", group);
		fclose(group);
	}
}

/* Seconds that real-time threads may run before the kernel holds them back; no limit: a day. */
static double budget_s(void)
{
	long runtime_us = 0;
	FILE *file = fopen("/proc/sys/kernel/sched_rt_runtime_us", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%ld", &runtime_us) != 1)
		runtime_us = 0;
	fclose(file);
	return runtime_us < 0 ? 86400.0 : (double)runtime_us / 1e6;
}

bool precedence_raise(double seconds)
{
	const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};

	return seconds <= budget_s() * BUDGET_SHARE && !pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest);
}

void precedence_lower(void)
{
	const struct sched_param none = {.sched_priority = 0};

	pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
}
