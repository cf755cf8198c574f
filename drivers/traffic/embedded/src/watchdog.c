/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "watchdog.h"

#define WATCHDOGS 64
#define PERIOD_NS 500000
#define BUSY_PERIOD_NS 1000000 /* each sample takes time from the tester: docs/adr/0261 */
#define RING_PAGES 16 /* a power of two; 4096 samples of 16 octets, two seconds and more */
#define EMPTYING_NS 200000000 /* how often the rings of busy CPUs are emptied: well within what they hold */
#define TOLD_APART_NS 100000u  /* a shorter absence is within what an interrupt may be late */
#define INTERVALS 1024u

struct interval {
	uint64_t begin_ns, end_ns;
};

struct watchdog {
	int cpu, fd;
	bool real_time, busy;
	uint64_t alive_ns; /* of a busy CPU: when its kernel clock was last seen */
	pthread_mutex_t guard; /* of what follows */
	uint64_t absences, absent_ns, throttled, lost;
	struct interval intervals[INTERVALS];
	struct perf_event_mmap_page *page;
	const uint8_t *ring;
	uint64_t ring_octets;
	_Atomic uint64_t largest_ns, largest_late_ns, over_1ms, wakes;
};

struct sample {
	struct perf_event_header header;
	uint64_t time_ns;
};

static struct watchdog watchdogs[WATCHDOGS];
static unsigned int running;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool armed_now;
static _Atomic unsigned int epoch;

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int clock_open(struct watchdog *w)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = w->busy ? BUSY_PERIOD_NS : PERIOD_NS,
		.sample_type = PERF_SAMPLE_TIME,
		.disabled = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	w->fd = (int)syscall(SYS_perf_event_open, &attr, -1, w->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (w->fd < 0)
		return -1;
	w->ring_octets = RING_PAGES * page;
	w->page = mmap(NULL, page + w->ring_octets, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	if (w->page == MAP_FAILED)
		return -1;
	w->ring = (const uint8_t *)w->page + page;
	return 0;
}

static void ring_copy(const struct watchdog *w, uint64_t from, void *to, size_t octets)
{
	for (size_t i = 0; i < octets; i++)
		((uint8_t *)to)[i] = w->ring[(from + i) % w->ring_octets];
}

/* The CPU was gone until `end_ns`; to be called with the guard held. */
static void note_absence(struct watchdog *w, uint64_t away_ns, uint64_t end_ns)
{
	if (away_ns > w->largest_ns)
		w->largest_ns = away_ns;
	w->over_1ms += away_ns > 1000000u;
	if (away_ns < TOLD_APART_NS)
		return;
	if (w->absences < INTERVALS)
		w->intervals[w->absences] = (struct interval){end_ns - away_ns, end_ns};
	w->absences++;
	w->absent_ns += away_ns;
}

/* The next time at which the kernel clock gave a sample, in its ring's order; 0: none is left. */
static uint64_t next_sample(struct watchdog *w)
{
	uint64_t head = __atomic_load_n(&w->page->data_head, __ATOMIC_ACQUIRE), tail = w->page->data_tail;
	uint64_t time_ns = 0;

	while (tail < head && !time_ns) {
		struct sample one;

		ring_copy(w, tail, &one.header, sizeof(one.header));
		if (one.header.type == PERF_RECORD_SAMPLE && one.header.size == sizeof(one)) {
			ring_copy(w, tail, &one, sizeof(one));
			time_ns = one.time_ns;
		}
		/* Held back, or samples lost: from here on silence proves nothing. */
		w->throttled += one.header.type == PERF_RECORD_THROTTLE;
		w->lost += one.header.type == PERF_RECORD_LOST;
		tail += one.header.size;
	}
	__atomic_store_n(&w->page->data_tail, tail, __ATOMIC_RELEASE);
	return time_ns;
}

/* The longest time from `alive_ns` to `now_ns` in which the kernel clock gave no sample, and its end; empties its ring. */
static uint64_t longest_silence(struct watchdog *w, uint64_t alive_ns, uint64_t now_ns, uint64_t *end_ns)
{
	uint64_t longest = 0, time_ns;

	*end_ns = now_ns;
	while ((time_ns = next_sample(w)))
		if (time_ns > alive_ns) {
			if (time_ns - alive_ns > longest) {
				longest = time_ns - alive_ns;
				*end_ns = time_ns;
			}
			alive_ns = time_ns;
		}
	if (now_ns > alive_ns && now_ns - alive_ns > longest) {
		longest = now_ns - alive_ns;
		*end_ns = now_ns;
	}
	return longest;
}

/*
 * A CPU that never halts, the tester's: each silence of its kernel clock beyond the period is an absence. No thread
 * of ours runs there. `end` says that the clock was stopped just now.
 */
static void empty(struct watchdog *w, bool end)
{
	uint64_t now_ns = monotonic_ns(), time_ns;

	pthread_mutex_lock(&w->guard);
	do {
		time_ns = next_sample(w);
		if (!time_ns && end)
			time_ns = now_ns;
		if (time_ns > w->alive_ns + BUSY_PERIOD_NS)
			note_absence(w, time_ns - w->alive_ns - BUSY_PERIOD_NS, time_ns);
		if (time_ns > w->alive_ns)
			w->alive_ns = time_ns;
	} while (time_ns && time_ns < now_ns);
	pthread_mutex_unlock(&w->guard);
}

static void look(struct watchdog *w)
{
	struct timespec due;
	uint64_t slept_at = monotonic_ns(), due_ns = slept_at + PERIOD_NS, now_ns, late_ns, silent_ns, away_ns, end_ns;

	due.tv_sec = (time_t)(due_ns / 1000000000u);
	due.tv_nsec = (long)(due_ns % 1000000000u);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	now_ns = monotonic_ns();
	late_ns = now_ns > due_ns ? now_ns - due_ns : 0;
	pthread_mutex_lock(&w->guard);
	silent_ns = longest_silence(w, slept_at, now_ns, &end_ns);
	away_ns = silent_ns > PERIOD_NS ? silent_ns - PERIOD_NS : 0;
	if (away_ns > late_ns)
		away_ns = late_ns;
	/* A stall that the end of the trial fell into still counts: the CPU was away during it. */
	note_absence(w, away_ns, end_ns);
	pthread_mutex_unlock(&w->guard);
	if (late_ns > w->largest_late_ns)
		w->largest_late_ns = late_ns;
	w->wakes++;
}

static void *watch(void *argument)
{
	struct watchdog *w = argument;
	struct sched_param parameter = {.sched_priority = 2};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(w->cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	w->real_time = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter) == 0;
	for (;;) {
		unsigned int mine;

		pthread_mutex_lock(&lock);
		while (!armed_now)
			pthread_cond_wait(&changed, &lock);
		mine = epoch;
		pthread_mutex_unlock(&lock);
		ioctl(w->fd, PERF_EVENT_IOC_ENABLE, 0);
		while (mine == epoch)
			look(w);
		ioctl(w->fd, PERF_EVENT_IOC_DISABLE, 0);
	}
	return NULL;
}

/*
 * A thread inherits the one CPU of its maker, which is the tester's: off it, and off the SUT's where there are others.
 * Refused on a machine of one CPU.
 */
static void keep_off_watched(void)
{
	for (int step = 0; step < 2; step++) {
		cpu_set_t others;

		CPU_ZERO(&others);
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			CPU_SET(cpu, &others);
		for (unsigned int i = 0; i < running; i++)
			if (watchdogs[i].busy || !step)
				CPU_CLR(watchdogs[i].cpu, &others);
		if (!pthread_setaffinity_np(pthread_self(), sizeof(others), &others))
			return;
	}
}

/* Empties the rings of the busy CPUs, while they are watched. */
static void *empty_all(void *nothing)
{
	const struct timespec rest = {.tv_nsec = EMPTYING_NS};

	keep_off_watched();
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!armed_now)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
		clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
		for (unsigned int i = 0; i < running; i++)
			if (watchdogs[i].busy)
				empty(&watchdogs[i], false);
	}
	return nothing;
}

int watchdogs_start(const json_t *cpus, bool busy)
{
	size_t i;
	json_t *cpu;
	pthread_t emptier;

	json_array_foreach(cpus, i, cpu) {
		struct watchdog *w = &watchdogs[running];
		pthread_t thread;

		if (running == WATCHDOGS) {
			errno = E2BIG;
			return -1;
		}
		w->cpu = (int)json_integer_value(cpu);
		w->busy = busy;
		pthread_mutex_init(&w->guard, NULL);
		if (clock_open(w))
			return -1;
		running++;
		errno = busy ? 0 : pthread_create(&thread, NULL, watch, w);
		if (errno)
			return -1;
	}
	errno = busy ? pthread_create(&emptier, NULL, empty_all, NULL) : 0;
	return errno ? -1 : 0;
}

void watchdogs_arm(bool armed)
{
	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < running; i++) {
		struct watchdog *w = &watchdogs[i];

		if (w->busy && armed_now && !armed) {
			ioctl(w->fd, PERF_EVENT_IOC_DISABLE, 0);
			empty(w, true);
		}
		if (!armed)
			continue;
		pthread_mutex_lock(&w->guard);
		while (next_sample(w))
			; /* what an earlier trial left */
		w->largest_ns = w->largest_late_ns = w->over_1ms = w->wakes = 0;
		w->absences = w->absent_ns = w->throttled = w->lost = 0;
		w->alive_ns = monotonic_ns();
		pthread_mutex_unlock(&w->guard);
		if (w->busy)
			ioctl(w->fd, PERF_EVENT_IOC_ENABLE, 0);
	}
	armed_now = armed;
	epoch++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* Begin and end in turn, since `started_ns`; what lay before it is cut off. */
static json_t *intervals_json(const struct watchdog *w, uint64_t started_ns)
{
	json_t *out = json_array();

	for (uint64_t i = 0; i < w->absences && i < INTERVALS; i++) {
		const struct interval *one = &w->intervals[i];

		if (one->end_ns <= started_ns)
			continue;
		json_array_append_new(out, json_integer(one->begin_ns > started_ns ? (json_int_t)(one->begin_ns - started_ns)
										   : 0));
		json_array_append_new(out, json_integer((json_int_t)(one->end_ns - started_ns)));
	}
	return out;
}

json_t *watchdogs_json(uint64_t started_ns)
{
	json_t *out = json_array();

	for (unsigned int i = 0; i < running; i++) {
		struct watchdog *w = &watchdogs[i];

		pthread_mutex_lock(&w->guard);
		json_array_append_new(out, json_pack("{s:i,s:b,s:I,s:I,s:I,s:I,s:o,s:I,s:I,s:I,s:I,s:b}", "cpu", w->cpu, "busy",
						     w->busy, "largest_stall_ns", (json_int_t)w->largest_ns, "absences",
						     (json_int_t)w->absences, "absent_ns", (json_int_t)w->absent_ns,
						     "stalls_over_1ms", (json_int_t)w->over_1ms, "intervals",
						     intervals_json(w, started_ns), "throttled", (json_int_t)w->throttled,
						     "lost", (json_int_t)w->lost, "largest_lateness_ns",
						     (json_int_t)w->largest_late_ns, "wakes", (json_int_t)w->wakes,
						     "real_time", w->real_time));
		pthread_mutex_unlock(&w->guard);
	}
	return out;
}
