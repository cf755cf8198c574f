/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches CPUs (the embedded tester's two-clock watchdog) and the frame counters of up to two interfaces while
 * somebody else's generator sends. Lines on standard input: `arm` begins, `read` ends and prints one line of JSON.
 *
 * argv: a JSON list of CPU numbers, then interface names of this network namespace.
 */
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "watchdog.h"

#define LOOK_NS 500000
#define PORTS 2

struct counters {
	uint64_t rx_packets, rx_dropped, tx_packets, tx_dropped;
};

struct sight {
	struct counters before, last;
	uint64_t first_ns, moved_ns, pause_ns; /* of tx_packets: first and last move, longest rest between */
};

static char **names;
static int name_count, file = -1;
static struct sight sights[PORTS];
static _Atomic int armed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void count(struct counters *out)
{
	static char text[65536];
	ssize_t octets = pread(file, text, sizeof(text) - 1, 0);
	char *rest = NULL, *line;

	if (octets <= 0)
		return;
	text[octets] = 0;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		unsigned long long v[16];
		char *colon = strchr(line, ':'), *name = line;
		int i;

		if (!colon)
			continue;
		*colon = 0;
		while (*name == ' ')
			name++;
		for (i = 0; i < name_count && strcmp(name, names[i]); i++)
			;
		if (i == name_count)
			continue;
		if (sscanf(colon + 1, "%llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1], &v[2],
			   &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9], &v[10], &v[11]) < 12)
			continue;
		out[i] = (struct counters){v[1], v[3], v[9], v[11]};
	}
}

static void *look(void *nothing)
{
	struct sched_param first = {.sched_priority = 2};
	struct timespec due;

	(void)nothing;
	sched_setscheduler(0, SCHED_FIFO, &first); /* without it, it sees late that frames left: a longer pause */
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (;;) {
		struct counters now[PORTS] = {0};
		uint64_t before_ns, now_ns;

		due.tv_nsec += LOOK_NS;
		if (due.tv_nsec >= 1000000000) {
			due.tv_nsec -= 1000000000;
			due.tv_sec++;
		}
		if (!armed) {
			struct timespec rest = {.tv_nsec = 2000000};

			nanosleep(&rest, NULL);
			clock_gettime(CLOCK_MONOTONIC, &due);
			continue;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		pthread_mutex_lock(&lock);
		before_ns = monotonic_ns();
		count(now);
		now_ns = (before_ns + monotonic_ns()) / 2;
		for (int i = 0; i < name_count && armed; i++) {
			struct sight *s = &sights[i];

			if (now[i].tx_packets == s->last.tx_packets)
				continue;
			if (!s->first_ns)
				s->first_ns = now_ns;
			else if (now_ns - s->moved_ns > s->pause_ns)
				s->pause_ns = now_ns - s->moved_ns;
			s->moved_ns = now_ns;
			s->last = now[i];
		}
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void arm(void)
{
	struct counters now[PORTS] = {0};

	pthread_mutex_lock(&lock);
	count(now);
	memset(sights, 0, sizeof(sights));
	for (int i = 0; i < name_count; i++)
		sights[i].before = sights[i].last = now[i];
	armed = 1;
	pthread_mutex_unlock(&lock);
	watchdogs_arm(true);
}

static void answer(void)
{
	json_t *ports = json_array(), *out;
	struct counters now[PORTS] = {0};
	char *text;

	pthread_mutex_lock(&lock);
	armed = 0;
	count(now);
	for (int i = 0; i < name_count; i++) {
		const struct sight *s = &sights[i];

		json_array_append_new(
			ports,
			json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I}", "interface", names[i], "rx_packets",
				  (json_int_t)(now[i].rx_packets - s->before.rx_packets), "rx_dropped",
				  (json_int_t)(now[i].rx_dropped - s->before.rx_dropped), "tx_packets",
				  (json_int_t)(now[i].tx_packets - s->before.tx_packets), "tx_dropped",
				  (json_int_t)(now[i].tx_dropped - s->before.tx_dropped), "sending_ns",
				  (json_int_t)(s->first_ns ? s->moved_ns - s->first_ns : 0), "longest_pause_ns",
				  (json_int_t)s->pause_ns));
	}
	pthread_mutex_unlock(&lock);
	watchdogs_arm(false);
	out = json_pack("{s:o,s:o}", "watchdogs", watchdogs_json(0), "ports", ports);
	text = json_dumps(out, JSON_COMPACT);
	puts(text);
	fflush(stdout);
	free(text);
	json_decref(out);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char line[64];
	json_t *cpus;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (argc < 2 || argc > 2 + PORTS)
		return 2;
	names = argv + 2;
	name_count = argc - 2;
	file = open("/proc/self/net/dev", O_RDONLY | O_CLOEXEC);
	cpus = json_loads(argv[1], 0, NULL);
	if (file < 0 || !cpus || watchdogs_start(cpus, false)) {
		perror("watch");
		return 3;
	}
	if (name_count && pthread_create(&thread, NULL, look, NULL))
		return 3;
	puts("\"ready\"");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "arm\n")) {
			arm();
			puts("\"armed\"");
			fflush(stdout);
		} else if (!strcmp(line, "read\n")) {
			answer();
		}
	}
	return 0;
}
