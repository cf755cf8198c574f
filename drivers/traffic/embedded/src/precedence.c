/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "precedence.h"

#define BUDGET_SHARE 0.98 /* of what the kernel lets real-time threads have: the watchdogs need some of it */
#define STRETCHES 16u	  /* remembered; shorter ones than a sixteenth of a second follow each other with pauses */

/* When this thread last had real-time priority, in seconds of CLOCK_MONOTONIC: each lane is on a CPU of its own. */
static __thread struct stretch {
	double from, to;
} stretches[STRETCHES];
static __thread unsigned int latest;
static __thread bool raised;

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

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A number of microseconds from the kernel's settings; 0 if it cannot be read. */
static long setting_us(const char *path)
{
	long value = 0;
	FILE *file = fopen(path, "re");

	if (!file)
		return 0;
	if (fscanf(file, "%ld", &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

/* Seconds of real-time priority that this thread had since `from`. */
static double used_s(double from)
{
	double used = 0;

	for (unsigned int i = 0; i < STRETCHES; i++)
		if (stretches[i].to > from)
			used += stretches[i].to - (stretches[i].from > from ? stretches[i].from : from);
	return used;
}

/* Whether `seconds` more keep any period of the kernel's accounts within what it lets real-time threads have. */
static bool affordable(double seconds)
{
	long runtime_us = setting_us("/proc/sys/kernel/sched_rt_runtime_us");
	double period_s = (double)setting_us("/proc/sys/kernel/sched_rt_period_us") / 1e6;

	if (runtime_us < 0)
		return true;
	return seconds < period_s &&
	       seconds + used_s(now_s() - (period_s - seconds)) <= BUDGET_SHARE * (double)runtime_us / 1e6;
}

bool precedence_raise(double seconds)
{
	const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};

	if (raised || !affordable(seconds) || pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest))
		return false;
	latest = (latest + 1) % STRETCHES;
	stretches[latest] = (struct stretch){.from = now_s(), .to = now_s()};
	raised = true;
	return true;
}

void precedence_lower(void)
{
	const struct sched_param none = {.sched_priority = 0};

	if (!raised)
		return;
	pthread_setschedparam(pthread_self(), SCHED_OTHER, &none);
	stretches[latest].to = now_s();
	raised = false;
}
