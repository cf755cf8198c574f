/* SPDX-License-Identifier: Apache-2.0 */
/* One trial by the programs inside the kernel: long calls, of which a second thread ends the last one in time. */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "clock.h"
#include "extra.h"
#include "precedence.h"
#include "watchdog.h"
#include "xdp.h"

#define END_SIGNAL SIGUSR1
#define FRAMES_A_CALL UINT32_MAX /* the most that a call takes; some minutes, then it is made again */
/* Choices, docs/adr/0240: a frame waits for the end of its batch, and what begins and ends a batch costs time. */
#define PROMPT_BATCH 8u
#define DENSE_BATCH 32u
#define DENSE_FPS 1.5e6 /* of both directions together */
#define BEGIN_LOOK_NS 1000000u	 /* how often the second thread looks whether the program has begun */
#define DRAIN_LOOK_NS 1000000u
#define END_LOOK_NS 20000000u	  /* and whether all frames have left */
#define LONGEST_NS 1e18		  /* of a trial: what a number of ns can hold */
#define BEGIN_DEADLINE_NS 5000000000u /* a program that never runs */

static struct attendance {
	pthread_t thread, caller;
	int control_fd;
	uint64_t began_ns;
	double hz;
	_Atomic bool calling, over;
	bool aborted, watching; /* the watchdogs look from the program's first run to the end of the call */
} attendance;

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t shared_read(const uint64_t *value)
{
	return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

static uint64_t sent_until_now(const struct xdp_sending *g)
{
	uint64_t sent = 0;

	for (unsigned int i = 0; i < XDP_STREAMS; i++)
		sent += shared_read(&g->sender[i].sent);
	return sent;
}

static bool all_left(const struct xdp_sending *g)
{
	for (unsigned int i = 0; i < XDP_STREAMS; i++) {
		const struct xdp_sender *s = &g->sender[i];
		uint64_t sent = shared_read(&s->sent);

		if (s->active && (sent < s->intended || (s->broadcast_every && shared_read(&s->broadcast_sent) <
										       sent / s->broadcast_every)))
			return false;
	}
	return true;
}

/* Whether a trial is at its end: all frames have left, its time is over, or nobody waits for it. */
static bool ended(const struct attendance *a, const struct xdp_sending *g)
{
	uint64_t start_ns = shared_read(&g->start_ns), now_ns = monotonic_ns();

	return a->aborted || all_left(g) || (!start_ns && now_ns - a->began_ns > BEGIN_DEADLINE_NS) ||
	       (start_ns && now_ns > start_ns + g->last_ns);
}

/* How long until something is to be done: the end of the call, or a frame beside the stream. */
static uint64_t attend_wait_ns(struct attendance *a, const struct xdp_sending *g)
{
	uint64_t start_ns = shared_read(&g->start_ns), now_ns = monotonic_ns(), wait_ns = BEGIN_LOOK_NS, extra;

	if (!a->calling)
		return BEGIN_LOOK_NS;
	if (start_ns && !a->watching) {
		a->watching = true;
		watchdogs_arm(true);
	}
	if (ended(a, g)) {
		watchdogs_arm(false);
		pthread_kill(a->caller, END_SIGNAL);
		return BEGIN_LOOK_NS;
	}
	if (!start_ns || now_ns < start_ns)
		return BEGIN_LOOK_NS;
	wait_ns = start_ns + g->last_ns - now_ns;
	if (wait_ns > END_LOOK_NS)
		wait_ns = END_LOOK_NS;
	extras_send(rte_rdtsc(), sent_until_now(g));
	extra = extras_next();
	if (extra != UINT64_MAX) {
		uint64_t cycles = rte_rdtsc();
		uint64_t extra_ns = extra > cycles ? clock_ns(extra - cycles) : 0;

		wait_ns = extra_ns < wait_ns ? extra_ns : wait_ns;
	}
	return wait_ns + 1u;
}

/* Ends the call, answers ARP and ND, sends what goes beside the stream; on other CPUs than the sender's. */
static void *attend(void *argument)
{
	struct attendance *a = argument;
	const struct xdp_sending *g = &xdp_shared()->sending;

	while (!a->over) {
		struct pollfd wait[] = {{.fd = a->aborted ? -1 : a->control_fd, .events = POLLIN},
					{.fd = ports[0].packets, .events = POLLIN},
					{.fd = ports[1].packets, .events = POLLIN}};
		uint64_t wait_ns = attend_wait_ns(a, g);
		struct timespec most = {.tv_sec = (time_t)(wait_ns / 1000000000u),
					.tv_nsec = (long)(wait_ns % 1000000000u)};

		if (ppoll(wait, 3, &most, NULL) <= 0)
			continue;
		if (wait[0].revents && a->calling)
			a->aborted = true; /* the master has closed the channel or said something */
		for (unsigned int i = 0; i < PAIR; i++)
			if (wait[1 + i].revents)
				xdp_input(&ports[i]);
	}
	return NULL;
}

static void on_end(int signal)
{
	(void)signal;
}

static int attend_start(struct attendance *a, int control_fd, double hz)
{
	const struct sched_param above = {.sched_priority = sched_get_priority_min(SCHED_FIFO) + 1};
	struct sigaction end = {.sa_handler = on_end};
	cpu_set_t mine, others;
	pthread_attr_t attributes;
	int result;

	a->control_fd = control_fd;
	a->hz = hz;
	a->aborted = a->watching = false;
	a->calling = a->over = false;
	a->caller = pthread_self();
	a->began_ns = monotonic_ns();
	sigaction(END_SIGNAL, &end, NULL);
	pthread_getaffinity_np(a->caller, sizeof(mine), &mine);
	CPU_ZERO(&others);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (!CPU_ISSET(cpu, &mine))
			CPU_SET(cpu, &others);
	pthread_attr_init(&attributes);
	result = pthread_create(&a->thread, &attributes, attend, a);
	pthread_attr_destroy(&attributes);
	if (!result) {
		pthread_setaffinity_np(a->thread, sizeof(others), &others); /* refused on a machine of one CPU */
		/* Above the sender, and above the thread of a device queue that is kept busy. */
		pthread_setschedparam(a->thread, SCHED_FIFO, &above);
	}
	return result;
}

static struct xdp_step step_of(double load_fps)
{
	long double interval_ns = 1e9L / (long double)load_fps;
	uint64_t whole = (uint64_t)interval_ns;

	return (struct xdp_step){.ns = whole, .fraction = (uint32_t)((interval_ns - (long double)whole) * 4294967296.0L)};
}

static void sender_prepare(struct xdp_sender *to, const struct stream *s, const struct xdp_order *o)
{
	struct frame_template *templates = xdp_shared()->template[s->index];
	bool two = o->first < s->intended;

	to->intended = s->intended;
	to->first = o->first;
	to->step[0] = step_of(o->load_fps);
	to->step[1] = step_of(two ? o->then_load_fps : o->load_fps);
	if (o->burst_frames) {
		to->burst_frames = o->burst_frames;
		to->step[0] = step_of(o->burst_fps);
		to->step[1] = step_of(o->load_fps / (double)o->burst_frames);
	}
	to->then_ns = (uint64_t)((long double)o->first * 1e9L / (long double)o->load_fps);
	to->broadcast_every = s->broadcast_every;
	to->mix_frames = s->mix_frames;
	to->largest_lateness_ns = 0;
	memcpy(to->mix_order, s->mix_order, sizeof(to->mix_order));
	templates[0] = s->template;
	for (unsigned int i = 0; i < XDP_MIX_SIZES && s->mix_frames; i++)
		templates[1 + i] = s->mix[i];
	templates[XDP_BROADCAST] = s->template;
	frame_broadcast_fill(templates[XDP_BROADCAST].octets, &s->template);
	to->active = 1;
}

static void prepare(struct trial *t, const struct xdp_order *o)
{
	struct xdp_shared *shared = xdp_shared();
	struct xdp_sending *g = &shared->sending;
	uint64_t intended = t->streams[t->streams[0].active ? 0 : 1].intended;
	double then_s = o->first < intended ? (double)(intended - o->first) / o->then_load_fps : 0;
	double last_ns = ((double)o->first / o->load_fps + then_s + o->late_s) * 1e9;

	memset(g, 0, sizeof(*g));
	g->number = t->number;
	g->frame_octets = (uint16_t)(o->frame_octets - FCS_OCTETS);
	g->burst_limit = o->burst_limit;
	g->last_ns = (uint64_t)(last_ns < LONGEST_NS ? last_ns : LONGEST_NS);
	for (unsigned int i = 0; i < XDP_STREAMS; i++) {
		struct xdp_receiving *r = &shared->receiving[1 - i];

		r->unassigned = r->arrivals = r->last_arrival_ns = 0;
		r->number = t->number;
		r->added_octets = t->streams[i].added_octets;
		r->expected = t->expected;
		if (t->streams[i].active)
			sender_prepare(&g->sender[i], &t->streams[i], o);
		__atomic_store_n(&r->expects, t->streams[i].active, __ATOMIC_RELEASE);
	}
}

/* Returns for how many nanoseconds it went on receiving after the last frame could leave. */
static uint64_t drain(double quiet_s, double limit_s)
{
	const struct xdp_shared *shared = xdp_shared();
	uint64_t start_ns = monotonic_ns(), last_ns = start_ns, before = 0;

	for (;;) {
		uint64_t arrivals = shared_read(&shared->receiving[0].arrivals) + shared_read(&shared->receiving[1].arrivals);
		uint64_t now_ns = monotonic_ns();

		if (arrivals != before)
			last_ns = now_ns;
		before = arrivals;
		if ((double)(now_ns - last_ns) > quiet_s * 1e9 || (double)(now_ns - start_ns) > limit_s * 1e9)
			return now_ns - start_ns;
		nanosleep(&(struct timespec){.tv_nsec = DRAIN_LOOK_NS}, NULL);
	}
}

static uint64_t cycles(uint64_t ns, double hz)
{
	return (uint64_t)((double)ns * hz / 1e9 + 0.5);
}

/* A time of the programs' clock on that of `pace`; 0 stays 0. */
static uint64_t moved(uint64_t at_ns, const struct pace *pace, double hz)
{
	uint64_t start_ns = xdp_shared()->sending.start_ns;

	return at_ns <= start_ns ? 0 : pace->start + cycles(at_ns - start_ns, hz);
}

static void stream_take(struct stream *s, const struct pace *pace, double hz)
{
	struct xdp_shared *shared = xdp_shared();
	const struct xdp_sender *from = &shared->sending.sender[s->index];
	struct counts *c = s->got;
	uint64_t answered = extras_answered(1u - s->index);

	s->sent = from->sent;
	s->largest_burst = from->largest_burst;
	s->largest_lateness = cycles((uint64_t)from->largest_lateness_ns, hz);
	s->first_sent_at = cycles(from->first_sent_ns, hz);
	s->last_sent_at = s->first_sent_at + cycles(from->last_sent_ns - from->first_sent_ns, hz);
	s->backpressure = from->size_refused;
	s->broadcast_sent = from->broadcast_sent;
	s->broadcast_least = from->broadcast_least;
	s->broadcast_most = from->broadcast_most;
	memcpy(s->sent_to, from->sent_to, sizeof(s->sent_to));
	s->burst = (struct burst_times){.bursts = from->burst.bursts,
					.lengths = cycles(from->burst.lengths, hz),
					.longest = cycles(from->burst.longest, hz),
					.intervals = cycles(from->burst.intervals, hz),
					.shortest = cycles(from->burst.shortest, hz)};
	c->foreign -= answered < c->foreign ? answered : c->foreign;
	for (unsigned int i = 0; i < MAX_TAGS; i++)
		if (c->tagged_ns[i])
			c->tagged_at[i] = s->first_sent_at + cycles(c->tagged_at[i] - from->first_sent_ns, hz);
	c->losses.previous = moved(c->losses.previous, pace, hz);
	for (unsigned int i = 0; i < c->losses.count; i++) {
		c->losses.kept[i].before = moved(c->losses.kept[i].before, pace, hz);
		c->losses.kept[i].after = moved(c->losses.kept[i].after, pace, hz);
	}
}

static void take(struct trial *t, const struct pace *pace, double hz, struct loop_record *record)
{
	struct xdp_shared *shared = xdp_shared();
	const struct xdp_sending *g = &shared->sending;

	for (unsigned int i = 0; i < XDP_STREAMS; i++)
		__atomic_store_n(&shared->receiving[i].expects, 0, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < XDP_STREAMS; i++) {
		uint64_t answered = extras_answered(i), *unassigned = &shared->receiving[i].unassigned;

		if (t->streams[i].active)
			stream_take(&t->streams[i], pace, hz);
		if (!t->streams[1 - i].active)
			*unassigned -= answered < *unassigned ? answered : *unassigned;
		t->unassigned[i] = *unassigned;
	}
	record->started_ns = g->start_ns;
	record->largest_gap = cycles(g->largest_gap_ns, hz);
	record->gaps_over_1ms = g->gaps_over_1ms;
	record->passes = g->passes;
}

static uint32_t batch_of(const struct trial *t, const struct xdp_order *o)
{
	double load_fps = o->load_fps > o->then_load_fps ? o->load_fps : o->then_load_fps;

	if (o->burst_frames)
		load_fps = o->burst_fps;
	if (t->streams[0].active && t->streams[1].active)
		load_fps *= 2.0;
	return load_fps > DENSE_FPS ? DENSE_BATCH : PROMPT_BATCH;
}

int xdp_run(struct trial *t, const struct xdp_order *o, const struct pace *pace, int control_fd, double hz,
	    struct loop_record *record, struct failure *f)
{
	static uint8_t frame[XDP_FRAME_OCTETS];
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = o->frame_octets - FCS_OCTETS,
		    .repeat = (int)FRAMES_A_CALL, .batch_size = batch_of(t, o),
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
	struct attendance *a = &attendance;
	int result;

	if (o->frame_octets - FCS_OCTETS > XDP_FRAME_OCTETS)
		return failure_set(f, "frame", "a live frame has at most %u octets with its FCS",
				   XDP_FRAME_OCTETS + FCS_OCTETS);
	prepare(t, o);
	if (attend_start(a, control_fd, hz))
		return failure_set(f, "xdp_attach", "no thread to end the programs' run");
	record->real_time = precedence_raise((double)(pace->end - pace->start) / hz);
	a->calling = true;
	do
		result = bpf_prog_test_run_opts(xdp_sender(o->burst_frames || t->expected.networks), &run) ? errno : 0;
	while (!result && !ended(a, &xdp_shared()->sending));
	a->calling = false;
	watchdogs_arm(false);
	precedence_lower();
	if (!a->aborted && (!result || result == EINTR))
		record->residual = cycles(drain(o->quiet_s, o->limit_s), hz);
	a->over = true;
	pthread_join(a->thread, NULL);
	record->aborted = a->aborted;
	take(t, pace, hz, record);
	if (result && result != EINTR)
		return failure_set(f, "xdp_kernel", "the programs' run ended: %s", strerror(result));
	return 0;
}
