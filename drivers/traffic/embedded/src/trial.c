/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <rte_ethdev.h>

#include "clock.h"
#include "extra.h"
#include "lanes.h"
#include "neighbour.h"
#include "order.h"
#include "pattern.h"
#include "trial.h"
#include "watchdog.h"
#include "xdp.h"

#define IDLE_S 0.01 /* choice: of one queue at a time; of frames without end the channel gets no turn */

static struct lane lanes[LANES]; /* large: kept off the stack; what is not used takes no memory */

void trial_idle_poll(void)
{
	for (unsigned int i = 0; i < PORTS; i++) {
		struct rte_mbuf *frames[BURST_LIMIT];
		uint64_t end;
		uint16_t got;

		if (ports[i].xdp) {
			xdp_input(&ports[i]);
			continue;
		}
		for (uint16_t lane = 0; ports[i].attached && lane < ports[i].queues; lane++) {
			end = rte_rdtsc() + (uint64_t)(IDLE_S * (double)rte_get_tsc_hz());
			while (rte_rdtsc() < end &&
			       (got = rte_eth_rx_burst(ports[i].id, port_queue(&ports[i], lane), frames, BURST_LIMIT))) {
				for (uint16_t k = 0; k < got; k++)
					neighbour_input(&ports[i], rte_pktmbuf_mtod(frames[k], const uint8_t *),
							rte_pktmbuf_data_len(frames[k]));
				rte_pktmbuf_free_bulk(frames, got);
			}
		}
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

/* Where a lane counts; kept over trials. */
static int loop_memory(uint16_t lane, unsigned int index, struct counts **counts, uint64_t **window)
{
	static struct counts own[LANES][STREAMS];
	static uint64_t *windows[LANES][STREAMS];

	if (!windows[lane][index])
		windows[lane][index] = calloc(WINDOW_WORDS, sizeof(uint64_t));
	*counts = &own[lane][index];
	*window = windows[lane][index];
	return *window ? 0 : -1;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
	return b ? common_divisor(b, a % b) : a;
}

/* Which source ports a lane's frames have in turn: those of the order, or by their numbers among all frames. */
static void flows_prepare(struct stream *s, const struct trial *t, const struct order *o)
{
	const json_t *ports_of_lane = json_array_get(json_array_get(o->source_ports, s->index), t->lane);
	uint32_t flows = o->plan.flows;

	s->flows = (uint32_t)json_array_size(ports_of_lane);
	for (uint32_t i = 0; i < s->flows; i++)
		s->source_ports[i] = (uint16_t)json_integer_value(json_array_get(ports_of_lane, i));
	if (s->flows || flows == 1 || t->lanes == 1)
		return;
	s->flows = flows / common_divisor(flows, t->lanes);
	for (uint32_t i = 0; i < s->flows; i++)
		s->source_ports[i] = (uint16_t)(TEST_SOURCE_PORT + (i * t->lanes + t->lane) % flows);
}

/* Where the frames of each stream go; what the programs inside the kernel read is theirs. */
static struct destinations *destinations_of(unsigned int index)
{
	static struct destinations own[STREAMS];

	return xdp_open() ? xdp_destinations(index) : &own[index];
}

static int stream_prepare(struct trial *t, unsigned int index, const struct order *o, struct failure *f)
{
	struct stream *s = &t->streams[index];
	struct frame_plan plan = o->plan;
	const struct port *tx = &ports[index], *rx = &ports[1 - index];

	memset(s, 0, sizeof(*s));
	if (xdp_open())
		xdp_memory(index, &s->got, &s->window);
	else if (loop_memory(t->lane, index, &s->got, &s->window))
		return failure_set(f, "memory", "no memory for the sequence window");
	memset(s->got, 0, sizeof(*s->got));
	memset(s->window, 0, WINDOW_WORDS * sizeof(uint64_t));
	histogram_clear(&s->got->latency);
	s->index = (uint8_t)index;
	s->tx = &ports[index];
	s->rx = &ports[1 - index];
	s->intended = lane_share((uint64_t)o->intended, t->lane, t->lanes);
	s->all = (uint64_t)o->intended;
	s->added_octets = (int32_t)o->added_tags * (int32_t)sizeof(struct rte_vlan_hdr);
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
	flows_prepare(s, t, o);
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

static int lane_prepare(struct trial *t, const struct order *o, double hz, struct failure *f)
{
	t->streams[0].active = t->streams[1].active = false;
	if ((o->forward && stream_prepare(t, 0, o, f)) || (o->reverse && stream_prepare(t, 1, o, f)))
		return -1;
	t->number = (uint16_t)o->number;
	t->unassigned[0] = t->unassigned[1] = 0;
	t->ns_per_stamp = (double)(1u << STAMP_SHIFT) * 1e9 / hz;
	t->expected = (struct expected){.first = (uint64_t)o->first, .tag_first = (uint64_t)o->tag_first,
					.tag_step = (uint64_t)o->tag_step, .tags = (uint32_t)o->tags,
					.networks = (uint32_t)o->networks, .seed = (uint64_t)o->seed};
	return 0;
}

/* A trial between more ports than two, or between two by a pattern. */
static json_t *pattern_run(const json_t *spec, const struct order *o, int control_fd, uint64_t began, struct failure *f)
{
	static struct pattern pattern; /* large */
	struct loop_record record = {0};
	double hz = clock_hz();
	struct pace pace;
	const struct loop_order order = {.pace = &pace, .control_fd = control_fd, .hz = hz, .quiet_s = o->quiet_s,
					 .limit_s = o->limit_s};
	json_t *counters_before;

	if (pattern_prepare(&pattern, spec, o, hz, f) || extras_prepare(NULL, 0, hz, f))
		return NULL;
	counters_before = result_counters();
	watchdogs_arm(true);
	pace_prepare(&pace, o, hz);
	record.started_ns = monotonic_ns() + clock_ns(pace.start - rte_rdtsc());
	pattern_loop(&pattern, &order, &record);
	return result_pattern(&pattern, &record, rte_rdtsc() - began, counters_before);
}

json_t *trial_run(const json_t *spec, int control_fd, struct failure *f)
{
	struct loop_record *record = &lanes[0].record;
	struct order o;
	struct pace pace;
	json_t *counters_before, *told;
	uint16_t count = ports[0].queues;
	double hz = clock_hz();
	uint64_t began = rte_rdtsc();

	if (order_read(spec, &o, f))
		return NULL;
	if (json_is_object(json_object_get(spec, "pattern")))
		return pattern_run(json_object_get(spec, "pattern"), &o, control_fd, began, f);
	if (count > 1 && (o.loss_times || o.broadcast_every || o.burst_frames))
		return failure_set(f, "lanes", "times of losses, broadcast frames and bursts that repeat need one lane"), NULL;
	if (lanes_ready(lanes, count, f))
		return NULL;
	for (uint16_t i = 0; i < count; i++)
		if (lane_prepare(&lanes[i].trial, &o, hz, f))
			return NULL;
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

		if (xdp_run(&lanes[0].trial, &order, &pace, control_fd, hz, record, f)) {
			json_decref(counters_before);
			return NULL;
		}
	} else {
		const struct loop_order order = {.pace = &pace, .control_fd = control_fd, .hz = hz,
						 .quiet_s = o.quiet_s, .limit_s = o.limit_s};

		record->started_ns = monotonic_ns() + clock_ns(pace.start - rte_rdtsc());
		lanes_run(lanes, count, &order);
	}
	told = lanes_json(lanes, count);
	lanes_add(lanes, count);
	return result_json(&lanes[0].trial, record, o.loss_times ? &pace : NULL, rte_rdtsc() - began, counters_before, told);
}
