/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <rte_ethdev.h>

#include "clock.h"
#include "extra.h"
#include "neighbour.h"
#include "order.h"
#include "precedence.h"
#include "result.h"
#include "trial.h"
#include "watchdog.h"
#include "xdp.h"

#define CONTROL_LOOK_S 0.02 /* how often a running trial looks whether its master has gone or speaks */

static struct trial trial; /* large: kept off the stack */

/* Keep the fewest and the most test frames between two broadcast frames; the first counts from the trial's begin. */
static void between_add(struct stream *s, uint64_t frames)
{
	if (s->broadcast_sent == 1 || frames < s->broadcast_least)
		s->broadcast_least = frames;
	if (frames > s->broadcast_most)
		s->broadcast_most = frames;
}

/* One broadcast frame beside every `broadcast_every` test frames (rfc2544-11.1). */
static void send_broadcasts(struct stream *s)
{
	while (s->broadcast_sent < s->sent / s->broadcast_every) {
		struct rte_mbuf *frame = rte_pktmbuf_alloc(s->tx->pool);

		if (!frame)
			return;
		frame_broadcast_fill(rte_pktmbuf_mtod(frame, uint8_t *), &s->template);
		frame->data_len = s->template.length;
		frame->pkt_len = s->template.length;
		if (rte_eth_tx_burst(s->tx->id, 0, &frame, 1) != 1) {
			rte_pktmbuf_free(frame);
			return;
		}
		s->broadcast_sent++;
		between_add(s, s->sent - s->broadcast_after);
		s->broadcast_after = s->sent;
	}
}

static void send_due(struct stream *s, const struct pace *pace, uint64_t now, struct loop_record *record)
{
	struct rte_mbuf *frames[BURST_LIMIT];
	uint16_t drawn[BURST_LIMIT];
	uint64_t due = pace_due(pace, now);
	uint16_t trial_stream = (uint16_t)(trial.number << 1 | s->index);
	uint64_t lateness;
	uint16_t wanted, accepted;
	uint32_t stamp;

	if (due > s->intended)
		due = s->intended;
	if (due <= s->sent)
		return;
	wanted = (uint16_t)RTE_MIN(due - s->sent, (uint64_t)pace->burst_limit);
	if (s->broadcast_every) /* the broadcast frame has its place between two test frames */
		wanted = (uint16_t)RTE_MIN((uint64_t)wanted, s->broadcast_every - s->sent % s->broadcast_every);
	if (rte_pktmbuf_alloc_bulk(s->tx->pool, frames, wanted)) {
		record->no_buffer++;
		return;
	}
	stamp = (uint32_t)(rte_rdtsc() >> STAMP_SHIFT);
	for (uint16_t i = 0; i < wanted; i++) {
		const struct frame_template *template = stream_template(s, s->sent + i);
		uint8_t *octets = rte_pktmbuf_mtod(frames[i], uint8_t *);

		rte_memcpy(octets, template->octets, template->length);
		frame_sign(octets, template, trial_stream, s->sent + i, stamp);
		if (s->to->networks) {
			drawn[i] = (uint16_t)network_drawn(s->to->seed, s->sent + i, s->to->networks);
			frame_address(octets, template, &s->to->network[drawn[i]], s->to->octets, s->sent + i);
		}
		frames[i]->data_len = template->length;
		frames[i]->pkt_len = template->length;
	}
	accepted = rte_eth_tx_burst(s->tx->id, 0, frames, wanted);
	if (accepted < wanted) {
		rte_pktmbuf_free_bulk(frames + accepted, wanted - accepted);
		s->backpressure++;
		if (!accepted)
			return;
	}
	lateness = now - pace->start - pace_due_at(pace, s->sent);
	if ((int64_t)lateness > (int64_t)s->largest_lateness)
		s->largest_lateness = lateness;
	if (!s->sent)
		s->first_sent_at = now;
	if (s->burst_frames)
		for (uint64_t i = s->sent; i < s->sent + accepted; i++) {
			burst_note(&s->burst, i % s->burst_frames, s->burst_frames, i ? s->last_sent_at : 0, now);
			s->last_sent_at = now;
		}
	s->last_sent_at = now;
	s->sent += accepted;
	if (s->to->networks)
		for (uint16_t i = 0; i < accepted; i++)
			s->sent_to[drawn[i]]++;
	if (accepted > s->largest_burst)
		s->largest_burst = accepted;
	if (s->broadcast_every)
		send_broadcasts(s);
}

static uint32_t receive(unsigned int port)
{
	struct rte_mbuf *frames[BURST_LIMIT];
	uint16_t got = rte_eth_rx_burst(ports[port].id, 0, frames, BURST_LIMIT);
	uint32_t stamp;

	trial.now = rte_rdtsc();
	stamp = (uint32_t)(trial.now >> STAMP_SHIFT);
	for (uint16_t i = 0; i < got; i++)
		account_frame(&trial, port, rte_pktmbuf_mtod(frames[i], const uint8_t *),
			      rte_pktmbuf_data_len(frames[i]), stamp);
	if (got)
		rte_pktmbuf_free_bulk(frames, got);
	return got;
}

void trial_idle_poll(void)
{
	for (unsigned int i = 0; i < PORTS; i++) {
		struct rte_mbuf *frames[BURST_LIMIT];
		uint16_t got;

		if (ports[i].xdp) {
			xdp_input(&ports[i]);
			continue;
		}
		while (ports[i].attached && (got = rte_eth_rx_burst(ports[i].id, 0, frames, BURST_LIMIT))) {
			for (uint16_t k = 0; k < got; k++)
				neighbour_input(&ports[i], rte_pktmbuf_mtod(frames[k], const uint8_t *),
						rte_pktmbuf_data_len(frames[k]));
			rte_pktmbuf_free_bulk(frames, got);
		}
	}
}

/* The master has closed the channel or sent something: either ends a running trial. */
static bool interrupted(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

static bool all_sent(void)
{
	for (unsigned int i = 0; i < 2; i++)
		if (trial.streams[i].active && trial.streams[i].sent < trial.streams[i].intended)
			return false;
	return true;
}

static void send_phase(const struct pace *pace, int control_fd, double hz, struct loop_record *record)
{
	uint64_t look_every = (uint64_t)(CONTROL_LOOK_S * hz), millisecond = (uint64_t)(hz / 1e3);
	uint64_t before = rte_rdtsc(), look_at = before + look_every;

	while (!all_sent()) {
		uint64_t now = rte_rdtsc();

		/* The first pass may come before the start; a gap counts while frames are due. */
		if (now >= pace->start) {
			uint64_t gap = now - RTE_MAX(before, pace->start);

			if (gap > record->largest_gap)
				record->largest_gap = gap;
			record->gaps_over_1ms += gap > millisecond;
			if (now > pace->end)
				break;
			extras_send(now, trial.streams[0].sent + trial.streams[1].sent); /* the first frame of a trial or a second (rfc2544-11.2, 11.3) */
			for (unsigned int i = 0; i < 2; i++)
				if (trial.streams[i].active)
					send_due(&trial.streams[i], pace, now, record);
		}
		before = now;
		for (unsigned int i = 0; i < PORTS; i++)
			receive(i);
		record->passes++;
		if (now > look_at) {
			look_at = now + look_every;
			if (interrupted(control_fd)) {
				record->aborted = true;
				break;
			}
		}
	}
}

/* Returns for how many cycles it went on receiving after the last frame could leave. */
static uint64_t drain(double quiet_s, double limit_s, double hz)
{
	uint64_t start = rte_rdtsc(), last = start;

	for (;;) {
		uint64_t now = rte_rdtsc();

		if (receive(0) + receive(1))
			last = now;
		if (now - last > (uint64_t)(quiet_s * hz) || now - start > (uint64_t)(limit_s * hz))
			return now - start;
	}
}

static int destination_mac(const struct port *tx, const struct port *rx, enum frame_format format,
			   struct rte_ether_addr *mac, struct failure *f)
{
	const struct neighbour *gateway = format == FORMAT_IPV4_UDP   ? &tx->gateway_ipv4
					  : format == FORMAT_IPV6_UDP ? &tx->gateway_ipv6
								      : NULL;

	if (tx->has_peer_mac)
		*mac = tx->peer_mac;
	else if (!gateway || !gateway->wanted)
		*mac = rx->mac;
	else if (gateway->known)
		*mac = gateway->mac;
	else
		return failure_set(f, "neighbour", "%s: the gateway's MAC address is not known", tx->name);
	return 0;
}

/* One template for each size of the mix. The order was checked: there are at most MIX_SIZES. */
static void mix_prepare(struct stream *s, const struct order *o, struct frame_plan plan)
{
	uint32_t sizes[MIX_SIZES], count = 0;

	s->mix_frames = o->mix_frames;
	for (uint32_t i = 0; i < o->mix_frames; i++) {
		uint32_t n = 0;

		while (n < count && sizes[n] != o->mix[i])
			n++;
		if (n == count) {
			sizes[count++] = o->mix[i];
			plan.frame_octets = o->mix[i];
			frame_template_fill(&s->mix[n], &plan);
		}
		s->mix_order[i] = (uint8_t)n;
	}
}

/* Where the tester's own loop counts; kept over trials. */
static int loop_memory(unsigned int index, struct counts **counts, uint64_t **window)
{
	static struct counts own[2];
	static uint64_t *windows[2];

	if (!windows[index])
		windows[index] = calloc(WINDOW_WORDS, sizeof(uint64_t));
	*counts = &own[index];
	*window = windows[index];
	return windows[index] ? 0 : -1;
}

/* Where the frames of each stream go; what the programs inside the kernel read is theirs. */
static struct destinations *destinations_of(unsigned int index)
{
	static struct destinations own[2];

	return xdp_open() ? xdp_destinations(index) : &own[index];
}

static int stream_prepare(struct stream *s, unsigned int index, const struct order *o, struct failure *f)
{
	struct frame_plan plan = o->plan;
	const struct port *tx = &ports[index], *rx = &ports[1 - index];

	memset(s, 0, sizeof(*s));
	if (xdp_open())
		xdp_memory(index, &s->got, &s->window);
	else if (loop_memory(index, &s->got, &s->window))
		return failure_set(f, "memory", "no memory for the sequence window");
	memset(s->got, 0, sizeof(*s->got));
	memset(s->window, 0, WINDOW_WORDS * sizeof(uint64_t));
	histogram_clear(&s->got->latency);
	s->index = (uint8_t)index;
	s->tx = &ports[index];
	s->rx = &ports[1 - index];
	s->intended = (uint64_t)o->intended;
	s->broadcast_every = (uint32_t)o->broadcast_every;
	s->burst_frames = (uint64_t)o->burst_frames;
	if (plan.format == FORMAT_IPV4_UDP && (!tx->has_ipv4 || !rx->has_ipv4))
		return failure_set(f, "address", "IPv4 frames need an IPv4 address on both ports");
	if (plan.format == FORMAT_IPV6_UDP && (!tx->has_ipv6 || !rx->has_ipv6))
		return failure_set(f, "address", "IPv6 frames need an IPv6 address on both ports");
	if (plan.format == FORMAT_IPV4_UDP) {
		memcpy(plan.source_ip, tx->ipv4, 4);
		memcpy(plan.destination_ip, rx->ipv4, 4);
	} else {
		memcpy(plan.source_ip, tx->ipv6, 16);
		memcpy(plan.destination_ip, rx->ipv6, 16);
	}
	plan.source_mac = tx->mac;
	if (destination_mac(tx, rx, plan.format, &plan.destination_mac, f))
		return -1;
	frame_template_fill(&s->template, &plan);
	s->to = destinations_of(index);
	frame_destinations_fill(destinations_of(index), &s->template, plan.format, (uint32_t)o->networks,
				o->first_destination[index], (uint32_t)o->step_bits, (uint64_t)o->seed);
	mix_prepare(s, o, plan);
	s->active = true;
	return 0;
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pace_prepare(struct pace *pace, const struct order *o, double hz)
{
	bool two = o->first < o->intended;
	double first_s = (double)o->first / o->load_fps;
	double then_s = two ? (double)(o->intended - o->first) / o->then_load_fps : 0.0;

	pace->first = (uint64_t)o->first;
	pace->stage[0] = pace_stage(o->burst_frames ? o->burst_fps : o->load_fps, hz);
	pace->burst_frames = (uint64_t)o->burst_frames;
	pace->burst_cycles = (double)o->burst_frames / o->load_fps * hz;
	pace->stage[1] = pace_stage(two ? o->then_load_fps : o->load_fps, hz);
	pace->burst_limit = o->burst_limit;
	pace->start = rte_rdtsc() + (uint64_t)(hz / 1e3);
	pace->then_at = two ? pace->start + (uint64_t)(first_s * hz) : UINT64_MAX;
	/* One interval more than the frames take, and a time in which the last of them may leave. */
	pace->end = pace->start + (uint64_t)((first_s + then_s + o->late_s) * hz);
}

json_t *trial_run(const json_t *spec, int control_fd, struct failure *f)
{
	struct loop_record record = {0};
	struct order o;
	struct pace pace;
	json_t *counters_before;
	double hz = clock_hz();
	uint64_t began = rte_rdtsc();

	if (order_read(spec, &o, f))
		return NULL;
	trial.streams[0].active = trial.streams[1].active = false;
	if ((o.forward && stream_prepare(&trial.streams[0], 0, &o, f)) ||
	    (o.reverse && stream_prepare(&trial.streams[1], 1, &o, f)))
		return NULL;
	trial.number = (uint16_t)o.number;
	trial.unassigned[0] = trial.unassigned[1] = 0;
	trial.ns_per_stamp = (double)(1u << STAMP_SHIFT) * 1e9 / hz;
	trial.expected = (struct expected){.first = (uint64_t)o.first, .tag_first = (uint64_t)o.tag_first,
					   .tag_step = (uint64_t)o.tag_step, .tags = (uint32_t)o.tags,
					   .networks = (uint32_t)o.networks, .seed = (uint64_t)o.seed};
	counters_before = result_counters();
	watchdogs_arm(true);
	pace_prepare(&pace, &o, hz);
	if (extras_prepare(json_object_get(spec, "extras"), pace.start, hz, f)) {
		json_decref(counters_before);
		watchdogs_arm(false);
		return NULL;
	}
	if (xdp_open()) {
		const struct xdp_order order = {.first = (uint64_t)o.first, .load_fps = o.load_fps,
						.then_load_fps = o.then_load_fps, .late_s = o.late_s,
						.quiet_s = o.quiet_s, .limit_s = o.limit_s,
						.burst_limit = o.burst_limit, .frame_octets = o.plan.frame_octets,
						.burst_frames = (uint64_t)o.burst_frames, .burst_fps = o.burst_fps};

		if (xdp_run(&trial, &order, &pace, control_fd, hz, &record, f)) {
			json_decref(counters_before);
			return NULL;
		}
	} else {
		record.started_ns = monotonic_ns() + clock_ns(pace.start - rte_rdtsc());
		record.real_time = precedence_raise((double)(pace.end - pace.start) / hz);
		send_phase(&pace, control_fd, hz, &record);
		watchdogs_arm(false);
		precedence_lower();
		if (!record.aborted)
			record.residual = drain(o.quiet_s, o.limit_s, hz);
	}
	return result_json(&trial, &record, o.loss_times ? &pace : NULL, rte_rdtsc() - began, counters_before);
}
