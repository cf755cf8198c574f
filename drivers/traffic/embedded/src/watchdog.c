/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "watchdog.h"

#define WATCHDOGS 64
#define PERIOD_NS 500000

struct watchdog {
	int cpu;
	bool real_time;
	_Atomic uint64_t largest_ns, over_1ms, wakes;
};

static struct watchdog watchdogs[WATCHDOGS];
static unsigned int running;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool armed_now;
static _Atomic unsigned int epoch;

static uint64_t since(const struct timespec *then)
{
	struct timespec now;
	int64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = (int64_t)(now.tv_sec - then->tv_sec) * 1000000000 + (now.tv_nsec - then->tv_nsec);
	return ns < 0 ? 0 : (uint64_t)ns;
}

static void *watch(void *argument)
{
	struct watchdog *w = argument;
	struct sched_param parameter = {.sched_priority = 1};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(w->cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	w->real_time = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter) == 0;
	for (;;) {
		unsigned int mine;
		struct timespec due;

		pthread_mutex_lock(&lock);
		while (!armed_now)
			pthread_cond_wait(&changed, &lock);
		mine = epoch;
		pthread_mutex_unlock(&lock);
		while (mine == epoch) {
			clock_gettime(CLOCK_MONOTONIC, &due);
			due.tv_nsec += PERIOD_NS;
			if (due.tv_nsec >= 1000000000) {
				due.tv_nsec -= 1000000000;
				due.tv_sec++;
			}
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
			uint64_t late = since(&due);

			/* A stall that the end of the trial fell into still counts: the CPU was away during it. */
			if (late > w->largest_ns)
				w->largest_ns = late;
			w->over_1ms += late > 1000000u;
			w->wakes++;
		}
	}
	return NULL;
}

int watchdogs_start(const json_t *cpus)
{
	size_t i;
	json_t *cpu;

	json_array_foreach(cpus, i, cpu) {
		pthread_t thread;

		if (running == WATCHDOGS)
			return -1;
		watchdogs[running].cpu = (int)json_integer_value(cpu);
		if (pthread_create(&thread, NULL, watch, &watchdogs[running]))
			return -1;
		running++;
	}
	return 0;
}

void watchdogs_arm(bool armed)
{
	pthread_mutex_lock(&lock);
	if (armed)
		for (unsigned int i = 0; i < running; i++)
			watchdogs[i].largest_ns = watchdogs[i].over_1ms = watchdogs[i].wakes = 0;
	armed_now = armed;
	epoch++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

json_t *watchdogs_json(void)
{
	json_t *out = json_array();

	for (unsigned int i = 0; i < running; i++)
		json_array_append_new(out, json_pack("{s:i,s:I,s:I,s:I,s:b}", "cpu", watchdogs[i].cpu,
						     "largest_stall_ns", (json_int_t)watchdogs[i].largest_ns,
						     "stalls_over_1ms", (json_int_t)watchdogs[i].over_1ms, "wakes",
						     (json_int_t)watchdogs[i].wakes, "real_time",
						     watchdogs[i].real_time));
	return out;
}
