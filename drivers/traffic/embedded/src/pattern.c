/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <rte_ethdev.h>

#include "clock.h"
#include "neighbour.h"
#include "pattern.h"
#include "phase.h"
#include "precedence.h"
#include "watchdog.h"

/* Address `number` of a port's set: locally administered, the port, 24 bits; `step` apart, modulo 2^24. */
static void numbered_mac(struct rte_ether_addr *mac, unsigned int port, uint32_t number, uint32_t step)
{
	uint32_t place = number * step;
	const uint8_t octets[RTE_ETHER_ADDR_LEN] = {0x02, 0xb6, (uint8_t)port, (uint8_t)(place >> 16),
						    (uint8_t)(place >> 8), (uint8_t)place};

	memcpy(mac->addr_bytes, octets, sizeof(octets));
}

/* Which of its own addresses a frame has; where receivers have several too, pairs are drawn (rfc2889-5.1.3). */
static uint32_t source_number(const struct pattern *p, unsigned int port, uint64_t own)
{
	if (p->destinations == 1u)
		return (uint32_t)(own % p->sources);
	return network_drawn(p->seed + port, own, p->sources);
}

/* Which of its receiver's. */
static uint32_t destination_number(const struct pattern *p, unsigned int port, uint64_t own)
{
	if (p->sources == 1u)
		return (uint32_t)(own / p->sender[port].receivers % p->destinations);
	return network_drawn(~(p->seed + port), own, p->destinations);
}

/* When a sender's frame is due, in cycles since the start. */
static uint64_t own_due_at(const struct pattern *p, unsigned int port, const struct pace *pace, uint64_t number)
{
	uint64_t even = pace_due_at(pace, number);

	if (!p->moving)
		return even;
	return even + (uint64_t)(phase_of(p->seed, port, number) * pace->stage[0].cycles_per_frame);
}

static void send_due(struct pattern *p, unsigned int port, const struct pace *pace, uint64_t now, struct loop_record *record)
{
	struct pattern_sender *s = &p->sender[port];
	struct port *tx = &ports[port];
	struct rte_mbuf *frames[BURST_LIMIT];
	uint64_t due = RTE_MIN(pace_due(pace, now), p->intended), lateness;
	uint16_t wanted, accepted;
	uint32_t stamp, turn;

	/* a phase is less than an interval: of what is due in an even rhythm only the last frame may not be yet */
	if (due > s->sent && p->moving && pace->start + own_due_at(p, port, pace, due - 1u) > now)
		due--;
	if (due <= s->sent)
		return;
	wanted = (uint16_t)RTE_MIN(due - s->sent, (uint64_t)pace->burst_limit);
	if (rte_pktmbuf_alloc_bulk(tx->pools[0], frames, wanted)) {
		record->no_buffer++;
		return;
	}
	stamp = (uint32_t)(rte_rdtsc() >> STAMP_SHIFT);
	turn = (uint32_t)(s->sent % s->receivers);
	for (uint16_t i = 0; i < wanted; i++) {
		uint64_t own = s->sent + i;
		unsigned int to = s->receiver[turn];
		const struct frame_template *template = &p->pair[port][to].template;
		uint8_t *octets = rte_pktmbuf_mtod(frames[i], uint8_t *);
		struct rte_ether_hdr *eth = (struct rte_ether_hdr *)octets;

		rte_memcpy(octets, template->octets, template->length);
		frame_sign(octets, template, (uint16_t)(p->number << 1), (uint64_t)port << PATTERN_SHIFT | own, stamp);
		if (p->sources > 1u)
			numbered_mac(&eth->src_addr, port, source_number(p, port, own), p->mac_step);
		if (p->destinations > 1u)
			numbered_mac(&eth->dst_addr, to, destination_number(p, port, own), p->mac_step);
		frames[i]->data_len = template->length;
		frames[i]->pkt_len = template->length;
		if (++turn == s->receivers)
			turn = 0;
	}
	accepted = rte_eth_tx_burst(tx->id, 0, frames, wanted);
	if (accepted < wanted) {
		rte_pktmbuf_free_bulk(frames + accepted, wanted - accepted);
		s->backpressure++;
		if (!accepted)
			return;
	}
	lateness = now - pace->start - own_due_at(p, port, pace, s->sent);
	if ((int64_t)lateness > (int64_t)s->largest_lateness)
		s->largest_lateness = lateness;
	if (!s->sent)
		s->first_sent_at = now;
	if (p->burst_frames)
		for (uint64_t i = s->sent; i < s->sent + accepted; i++) {
			burst_note(&s->burst, i % p->burst_frames, p->burst_frames, i ? s->last_sent_at : 0, now);
			s->last_sent_at = now;
		}
	s->last_sent_at = now;
	s->sent += accepted;
	if (accepted > s->largest_burst)
		s->largest_burst = accepted;
}

/* Which turn of a sender is a port's; as many as there are turns where it is no receiver of it. */
static uint32_t turn_of(const struct pattern_sender *s, unsigned int port)
{
	uint32_t turn = 0;

	while (turn < s->receivers && s->receiver[turn] != port)
		turn++;
	return turn;
}

/* Whether the destination address is that with which the frame was sent. */
static bool for_it(const struct pattern *p, const struct pattern_sender *s, uint64_t own, const uint8_t *frame,
		   const struct frame_template *first)
{
	unsigned int from = (unsigned int)(s - p->sender), to = s->receiver[own % s->receivers];
	struct rte_ether_addr wanted;

	if (p->broadcast)
		return memcmp(frame, first->octets, RTE_ETHER_ADDR_LEN) == 0;
	if (p->destinations == 1u)
		return memcmp(frame, p->pair[from][to].template.octets, RTE_ETHER_ADDR_LEN) == 0;
	numbered_mac(&wanted, to, destination_number(p, from, own), p->mac_step);
	return memcmp(frame, &wanted, RTE_ETHER_ADDR_LEN) == 0;
}

static void account(struct pattern *p, unsigned int port, const uint8_t *frame, uint32_t length, uint32_t stamp)
{
	struct pattern_port *at = &p->port[port];
	const struct signature *signature;
	const struct frame_template *template;
	struct pattern_sender *s;
	struct pattern_pair *pair;
	uint64_t sequence, own, fill;
	unsigned int from;
	bool tagged;
	int offset = frame_signature_offset(frame, length, &tagged);

	if (offset < 0) {
		if (!neighbour_input(&ports[port], frame, length))
			at->foreign++;
		return;
	}
	signature = (const struct signature *)(frame + offset);
	if (!signature_valid(signature)) {
		at->corrupt++;
		return;
	}
	if (signature->trial_stream >> 1 != p->number) {
		at->stale++;
		return;
	}
	sequence = (uint64_t)signature->sequence_high << 32 | signature->sequence_low;
	from = (unsigned int)(sequence >> PATTERN_SHIFT);
	own = sequence & ((1ull << PATTERN_SHIFT) - 1u);
	if (from >= port_count || own >= p->sender[from].sent) {
		at->corrupt++;
		return;
	}
	s = &p->sender[from];
	template = &p->pair[from][s->receiver[0]].template; /* all have the same length and fill */
	fill = (uint64_t)offset + sizeof(struct signature);
	if (length != template->length || (uint32_t)offset != template->signature_offset ||
	    memcmp(frame + fill, template->octets + fill, length - fill) != 0) {
		at->corrupt++;
		return;
	}
	if (!for_it(p, s, own, frame, template)) {
		at->corrupt++;
		return;
	}
	if (from == port) {
		s->returned++;
		return;
	}
	if (p->broadcast ? turn_of(s, port) == s->receivers : s->receiver[own % s->receivers] != port) {
		at->flooded++;
		return;
	}
	pair = &p->pair[from][port];
	count_sequence(&pair->got, pair->window, &p->expected, p->broadcast ? own : own / s->receivers,
		       (uint64_t)((double)(stamp - signature->stamp) * p->ns_per_stamp + 0.5), p->now);
}

static bool receive_all(struct pattern *p)
{
	bool any = false;

	for (unsigned int port = 0; port < port_count; port++) {
		struct rte_mbuf *frames[BURST_LIMIT];
		uint16_t got = rte_eth_rx_burst(ports[port].id, 0, frames, BURST_LIMIT);
		uint32_t stamp;

		p->now = clock_after_frames();
		stamp = (uint32_t)(p->now >> STAMP_SHIFT);
		for (uint16_t i = 0; i < got; i++)
			account(p, port, rte_pktmbuf_mtod(frames[i], const uint8_t *), rte_pktmbuf_data_len(frames[i]), stamp);
		if (got) {
			rte_pktmbuf_free_bulk(frames, got);
			any = true;
		}
	}
	return any;
}

static bool all_sent(const struct pattern *p)
{
	for (unsigned int port = 0; port < port_count; port++)
		if (p->sender[port].receivers && p->sender[port].sent < p->intended)
			return false;
	return true;
}

static void send_phase(struct pattern *p, const struct loop_order *o, struct loop_record *record)
{
	const struct pace *pace = o->pace;
	uint64_t look_every = (uint64_t)(CONTROL_LOOK_S * o->hz), millisecond = (uint64_t)(o->hz / 1e3);
	uint64_t before = rte_rdtsc(), look_at = before + look_every;

	while (!all_sent(p)) {
		uint64_t now = rte_rdtsc();

		if (now >= pace->start) {
			uint64_t gap = now - RTE_MAX(before, pace->start);

			record->largest_gap = RTE_MAX(record->largest_gap, gap);
			record->gaps_over_1ms += gap > millisecond;
			if (now > pace->end)
				break;
			/* what several ports owe at one time goes out in another order each time */
			for (unsigned int i = 0, port = record->passes % port_count; i < port_count; i++) {
				if (p->sender[port].receivers)
					send_due(p, port, pace, now, record);
				if (++port == port_count)
					port = 0;
			}
		}
		before = now;
		receive_all(p);
		record->passes++;
		if (now > look_at) {
			look_at = now + look_every;
			if (loop_interrupted(o->control_fd)) {
				record->aborted = true;
				break;
			}
		}
	}
}

static uint64_t drain(struct pattern *p, const struct loop_order *o)
{
	uint64_t start = rte_rdtsc(), last = start;

	for (;;) {
		uint64_t now = rte_rdtsc();

		if (receive_all(p))
			last = now;
		if (now - last > (uint64_t)(o->quiet_s * o->hz) || now - start > (uint64_t)(o->limit_s * o->hz))
			return now - start;
	}
}

void pattern_loop(struct pattern *p, const struct loop_order *o, struct loop_record *record)
{
	uint64_t cpu_before_ns;

	p->start = o->pace->start;
	record->real_time = precedence_raise((double)(o->pace->end - o->pace->start) / o->hz);
	cpu_before_ns = loop_cpu_ns();
	send_phase(p, o, record);
	record->cpu_ns = loop_cpu_ns() - cpu_before_ns;
	watchdogs_arm(false);
	precedence_lower();
	if (!record->aborted)
		record->residual = drain(p, o);
}
