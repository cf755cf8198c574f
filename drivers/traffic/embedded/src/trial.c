/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <rte_ethdev.h>

#include "clock.h"
#include "neighbour.h"
#include "precedence.h"
#include "trial.h"
#include "watchdog.h"

#define CONTROL_LOOK_S 0.02 /* how often a running trial looks whether its master has gone or speaks */

struct pace {
	uint64_t start;
	uint64_t end;	     /* nothing is sent after it */
	uint64_t per_cycle;  /* frames per cycle, 64 fraction bits */
	double cycles_per_frame;
	uint32_t burst_limit;
};

struct loop_record {
	uint64_t largest_gap, gaps_over_1ms, passes, no_buffer;
	bool aborted, real_time;
};

static struct trial trial; /* large: kept off the stack, its windows are allocated once */

static json_t *count(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static inline uint64_t frames_due(const struct pace *pace, uint64_t now)
{
	return (uint64_t)(((unsigned __int128)(now - pace->start) * pace->per_cycle) >> 64) + 1u;
}

static void send_due(struct stream *s, const struct pace *pace, uint64_t now, struct loop_record *record)
{
	struct rte_mbuf *frames[BURST_LIMIT];
	const struct frame_template *template = &s->template;
	uint64_t due = frames_due(pace, now);
	uint16_t trial_stream = (uint16_t)(trial.number << 1 | s->index);
	uint64_t lateness;
	uint16_t wanted, accepted;
	uint32_t stamp;

	if (due > s->intended)
		due = s->intended;
	if (due <= s->sent)
		return;
	wanted = (uint16_t)RTE_MIN(due - s->sent, (uint64_t)pace->burst_limit);
	if (rte_pktmbuf_alloc_bulk(s->tx->pool, frames, wanted)) {
		record->no_buffer++;
		return;
	}
	stamp = (uint32_t)(rte_rdtsc() >> STAMP_SHIFT);
	for (uint16_t i = 0; i < wanted; i++) {
		uint8_t *octets = rte_pktmbuf_mtod(frames[i], uint8_t *);

		rte_memcpy(octets, template->octets, template->length);
		frame_sign(octets, template, trial_stream, s->sent + i, stamp);
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
	lateness = now - pace->start - (uint64_t)((double)s->sent * pace->cycles_per_frame);
	if ((int64_t)lateness > (int64_t)s->largest_lateness)
		s->largest_lateness = lateness;
	if (!s->sent)
		s->first_sent_at = now;
	s->last_sent_at = now;
	s->sent += accepted;
	if (accepted > s->largest_burst)
		s->largest_burst = accepted;
}

static uint32_t receive(unsigned int port)
{
	struct rte_mbuf *frames[BURST_LIMIT];
	uint16_t got = rte_eth_rx_burst(ports[port].id, 0, frames, BURST_LIMIT);
	uint32_t stamp = (uint32_t)(rte_rdtsc() >> STAMP_SHIFT);

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

static void drain(double quiet_s, double limit_s, double hz)
{
	uint64_t start = rte_rdtsc(), last = start;

	for (;;) {
		uint64_t now = rte_rdtsc();

		if (receive(0) + receive(1))
			last = now;
		if (now - last > (uint64_t)(quiet_s * hz) || now - start > (uint64_t)(limit_s * hz))
			return;
	}
}

static json_t *stream_json(const struct stream *s)
{
	json_t *out = json_object();

	json_object_set_new(out, "intended_frames", count(s->intended));
	json_object_set_new(out, "sent_frames", count(s->sent));
	json_object_set_new(out, "received_frames", count(s->received));
	json_object_set_new(out, "duplicate_frames", count(s->duplicate));
	json_object_set_new(out, "reordered_frames", count(s->reordered));
	json_object_set_new(out, "corrupt_frames", count(s->corrupt));
	json_object_set_new(out, "foreign_frames", count(s->foreign));
	json_object_set_new(out, "stale_frames", count(s->stale));
	json_object_set_new(out, "beyond_window_frames", count(s->beyond_window));
	json_object_set_new(out, "backpressure_bursts", count(s->backpressure));
	json_object_set_new(out, "largest_burst_frames", count(s->largest_burst));
	json_object_set_new(out, "largest_lateness_ns", count(clock_ns(s->largest_lateness)));
	json_object_set_new(out, "effective_duration_ns", count(clock_ns(s->last_sent_at - s->first_sent_at)));
	json_object_set_new(out, "latency", histogram_json(&s->latency));
	return out;
}

static json_t *counters_json(void)
{
	json_t *out = json_array();

	for (unsigned int i = 0; i < PORTS; i++)
		json_array_append_new(out, port_counters(&ports[i]));
	return out;
}

static json_t *result_json(const struct loop_record *record, uint64_t wall_cycles, json_t *counters_before)
{
	json_t *streams = json_array(), *unassigned = json_array();

	for (unsigned int i = 0; i < 2; i++)
		json_array_append_new(streams,
				      trial.streams[i].active ? stream_json(&trial.streams[i]) : json_null());
	for (unsigned int i = 0; i < PORTS; i++)
		json_array_append_new(unassigned, count(trial.unassigned[i]));
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:b,s:b,s:o}", "streams", streams, "port_counters_before",
			 counters_before, "port_counters", counters_json(),
			 "unassigned_frames", unassigned, "largest_gap_ns", count(clock_ns(record->largest_gap)),
			 "gaps_over_1ms", count(record->gaps_over_1ms), "loop_passes", count(record->passes),
			 "no_buffer_events", count(record->no_buffer), "wall_time_ns", count(clock_ns(wall_cycles)),
			 "aborted", record->aborted, "real_time", record->real_time, "watchdogs", watchdogs_json());
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

static int stream_prepare(struct stream *s, unsigned int index, const struct frame_plan *common, uint64_t intended,
			  struct failure *f)
{
	struct frame_plan plan = *common;
	uint64_t *window = s->window ? s->window : calloc(WINDOW_FRAMES / 64u, sizeof(uint64_t));
	const struct port *tx = &ports[index], *rx = &ports[1 - index];

	memset(s, 0, sizeof(*s));
	s->window = window;
	if (!window)
		return failure_set(f, "memory", "no memory for the sequence window");
	histogram_clear(&s->latency);
	s->index = (uint8_t)index;
	s->tx = &ports[index];
	s->rx = &ports[1 - index];
	s->intended = intended;
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
	s->active = true;
	return 0;
}

struct order {
	struct frame_plan plan;
	json_int_t number, intended;
	bool forward, reverse;
	double load_fps, quiet_s, limit_s;
	uint32_t burst_limit;
};

static int order_read(const json_t *spec, struct order *o, struct failure *f)
{
	json_int_t octets, vlan, flows, format, burst;
	int forward, reverse;

	memset(o, 0, sizeof(*o));
	if (json_unpack((json_t *)spec, "{s:I,s:I,s:I,s:I,s:I,s:I,s:F,s:b,s:b,s:I,s:F,s:F}", "number", &o->number,
			"frame_octets", &octets, "vlan", &vlan, "flows", &flows, "format", &format, "intended",
			&o->intended, "load_fps", &o->load_fps, "forward", &forward,
			"reverse", &reverse, "burst_limit", &burst, "drain_quiet_s", &o->quiet_s, "drain_limit_s",
			&o->limit_s))
		return failure_set(f, "protocol", "trial: a field is missing or of the wrong type");
	if (!ports[0].attached || !ports[1].attached)
		return failure_set(f, "state", "no ports are attached");
	if (format < FORMAT_ETHERNET || format > FORMAT_IPV6_UDP || vlan < 0 || vlan > 4094 || flows < 1 ||
	    flows > (json_int_t)MAX_FLOWS || burst < 1 || burst > (json_int_t)BURST_LIMIT || o->intended < 1 ||
	    o->load_fps < 1 || !(forward || reverse) || o->number < 1 || o->number > 32767)
		return failure_set(f, "protocol", "trial: a field is out of range");
	if (octets < (json_int_t)frame_minimum((enum frame_format)format, vlan != 0) ||
	    octets > (json_int_t)MAX_FRAME_OCTETS)
		return failure_set(f, "frame", "frame size %lld cannot be built in this format", octets);
	o->plan = (struct frame_plan){.format = (enum frame_format)format, .frame_octets = (uint32_t)octets,
				      .vlan = (uint16_t)vlan, .flows = (uint32_t)flows};
	o->burst_limit = (uint32_t)burst;
	o->forward = forward;
	o->reverse = reverse;
	return 0;
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
	if ((o.forward && stream_prepare(&trial.streams[0], 0, &o.plan, (uint64_t)o.intended, f)) ||
	    (o.reverse && stream_prepare(&trial.streams[1], 1, &o.plan, (uint64_t)o.intended, f)))
		return NULL;
	trial.number = (uint16_t)o.number;
	trial.unassigned[0] = trial.unassigned[1] = 0;
	trial.ns_per_stamp = (double)(1u << STAMP_SHIFT) * 1e9 / hz;
	pace.per_cycle = (uint64_t)(o.load_fps / hz * 18446744073709551616.0);
	pace.cycles_per_frame = hz / o.load_fps;
	pace.burst_limit = o.burst_limit;
	counters_before = counters_json();
	record.real_time = precedence_raise((double)o.intended / o.load_fps);
	watchdogs_arm(true);
	pace.start = rte_rdtsc() + (uint64_t)(hz / 1e3);
	/* One interval more than the frames take, and 50 us in which the last burst may leave. */
	pace.end = pace.start + (uint64_t)(((double)o.intended / o.load_fps + 50e-6) * hz);
	send_phase(&pace, control_fd, hz, &record);
	watchdogs_arm(false);
	precedence_lower();
	if (!record.aborted)
		drain(o.quiet_s, o.limit_s, hz);
	return result_json(&record, rte_rdtsc() - began, counters_before);
}
