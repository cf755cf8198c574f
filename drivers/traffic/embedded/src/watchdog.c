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
#define RING_PAGES 16 /* a power of two; 4096 samples of 16 octets, two seconds */

struct watchdog {
	int cpu, fd;
	bool real_time;
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
		.sample_period = PERIOD_NS,
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

/* The longest time from `alive_ns` to `now_ns` in which the kernel clock gave no sample; empties its ring. */
static uint64_t longest_silence(struct watchdog *w, uint64_t alive_ns, uint64_t now_ns)
{
	uint64_t head = __atomic_load_n(&w->page->data_head, __ATOMIC_ACQUIRE), tail = w->page->data_tail;
	uint64_t longest = 0;

	while (tail < head) {
		struct sample one;

		ring_copy(w, tail, &one.header, sizeof(one.header));
		if (one.header.type == PERF_RECORD_SAMPLE && one.header.size == sizeof(one)) {
			ring_copy(w, tail, &one, sizeof(one));
			if (one.time_ns > alive_ns) {
				if (one.time_ns - alive_ns > longest)
					longest = one.time_ns - alive_ns;
				alive_ns = one.time_ns;
			}
		}
		tail += one.header.size;
	}
	__atomic_store_n(&w->page->data_tail, tail, __ATOMIC_RELEASE);
	if (now_ns > alive_ns && now_ns - alive_ns > longest)
		longest = now_ns - alive_ns;
	return longest;
}

static void look(struct watchdog *w)
{
	struct timespec due;
	uint64_t slept_at = monotonic_ns(), due_ns = slept_at + PERIOD_NS, now_ns, late_ns, silent_ns, away_ns;

	due.tv_sec = (time_t)(due_ns / 1000000000u);
	due.tv_nsec = (long)(due_ns % 1000000000u);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	now_ns = monotonic_ns();
	late_ns = now_ns > due_ns ? now_ns - due_ns : 0;
	silent_ns = longest_silence(w, slept_at, now_ns);
	away_ns = silent_ns > PERIOD_NS ? silent_ns - PERIOD_NS : 0;
	if (away_ns > late_ns)
		away_ns = late_ns;
	/* A stall that the end of the trial fell into still counts: the CPU was away during it. */
	if (away_ns > w->largest_ns)
		w->largest_ns = away_ns;
	if (late_ns > w->largest_late_ns)
		w->largest_late_ns = late_ns;
	w->over_1ms += away_ns > 1000000u;
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

int watchdogs_start(const json_t *cpus)
{
	size_t i;
	json_t *cpu;

	json_array_foreach(cpus, i, cpu) {
		struct watchdog *w = &watchdogs[running];
		pthread_t thread;

		if (running == WATCHDOGS) {
			errno = E2BIG;
			return -1;
		}
		w->cpu = (int)json_integer_value(cpu);
		if (clock_open(w))
			return -1;
		errno = pthread_create(&thread, NULL, watch, w);
		if (errno)
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
			watchdogs[i].largest_ns = watchdogs[i].largest_late_ns = watchdogs[i].over_1ms =
				watchdogs[i].wakes = 0;
	armed_now = armed;
	epoch++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

json_t *watchdogs_json(void)
{
	json_t *out = json_array();

	for (unsigned int i = 0; i < running; i++) {
		const struct watchdog *w = &watchdogs[i];

		json_array_append_new(out, json_pack("{s:i,s:I,s:I,s:I,s:I,s:b}", "cpu", w->cpu, "largest_stall_ns",
						     (json_int_t)w->largest_ns, "largest_lateness_ns",
						     (json_int_t)w->largest_late_ns, "stalls_over_1ms",
						     (json_int_t)w->over_1ms, "wakes", (json_int_t)w->wakes,
						     "real_time", w->real_time));
	}
	return out;
}
