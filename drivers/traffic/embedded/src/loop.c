/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>
#include <time.h>
#include <rte_ethdev.h>

#include "clock.h"
#include "crossing.h"
#include "extra.h"
#include "loop.h"
#include "precedence.h"
#include "watchdog.h"

#define INLINE static inline __attribute__((always_inline))

/*
 * What follows is compiled twice: for the one lane of a trial, which knows of no other (`several` is false, and all of it
 * that is not needed then is left out), and for one of several.
 */

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
		struct rte_mbuf *frame = rte_pktmbuf_alloc(s->tx->pools[0]);

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

INLINE void send_due(struct trial *t, struct stream *s, const struct pace *pace, uint64_t now, struct loop_record *record,
		     const bool several)
{
	struct rte_mbuf *frames[BURST_LIMIT];
	uint16_t drawn[BURST_LIMIT];
	uint64_t due = pace_due(pace, now);
	uint16_t trial_stream = (uint16_t)(t->number << 1 | s->index), lane = several ? t->lane : 0;
	uint64_t lateness;
	uint32_t flow = several && s->flows ? (uint32_t)(s->sent % s->flows) : 0;
	uint16_t wanted, accepted;
	uint32_t stamp;

	if (several)
		due = lane_share(due, t->lane, t->lanes);
	if (due > s->intended)
		due = s->intended;
	if (due <= s->sent)
		return;
	wanted = (uint16_t)RTE_MIN(due - s->sent, (uint64_t)pace->burst_limit);
	if (s->broadcast_every) /* the broadcast frame has its place between two test frames */
		wanted = (uint16_t)RTE_MIN((uint64_t)wanted, s->broadcast_every - s->sent % s->broadcast_every);
	if (rte_pktmbuf_alloc_bulk(s->tx->pools[lane], frames, wanted)) {
		record->no_buffer++;
		return;
	}
	stamp = (uint32_t)(rte_rdtsc() >> STAMP_SHIFT);
	for (uint16_t i = 0; i < wanted; i++) {
		uint64_t own = s->sent + i, number = several ? lane_number(own, t->lane, t->lanes) : own;
		const struct frame_template *template = stream_template(s, number);
		uint8_t *octets = rte_pktmbuf_mtod(frames[i], uint8_t *);

		rte_memcpy(octets, template->octets, template->length);
		if (several) {
			signature_write((struct signature *)(octets + template->signature_offset), trial_stream,
					lane_sequence(t, own), stamp);
			if (s->flows)
				frame_port(octets, template, s->source_ports[flow]);
		} else {
			frame_sign(octets, template, trial_stream, own, stamp);
		}
		if (s->to->networks) {
			uint16_t source_port = !several	    ? flow_port(template, own)
					       : s->flows ? s->source_ports[flow]
							  : TEST_SOURCE_PORT;

			drawn[i] = (uint16_t)network_drawn(s->to->seed, number, s->to->networks);
			frame_address(octets, template, &s->to->network[drawn[i]], s->to->octets, source_port);
		}
		if (several && ++flow == s->flows)
			flow = 0;
		frames[i]->data_len = template->length;
		frames[i]->pkt_len = template->length;
	}
	accepted = rte_eth_tx_burst(s->tx->id, several ? port_queue(s->tx, lane) : 0, frames, wanted);
	if (accepted < wanted) {
		rte_pktmbuf_free_bulk(frames + accepted, wanted - accepted);
		s->backpressure++;
		if (!accepted)
			return;
	}
	lateness = now - pace->start - pace_due_at(pace, several ? lane_number(s->sent, t->lane, t->lanes) : s->sent);
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

INLINE uint32_t receive(struct trial *t, unsigned int port, const bool several)
{
	struct rte_mbuf *frames[BURST_LIMIT];
	uint16_t got = rte_eth_rx_burst(ports[port].id, several ? port_queue(&ports[port], t->lane) : 0, frames,
				       BURST_LIMIT);
	uint32_t stamp;

	t->now = clock_after_frames();
	stamp = (uint32_t)(t->now >> STAMP_SHIFT);
	for (uint16_t i = 0; i < got; i++)
		(several ? account_frame_of_lanes : account_frame)(t, port, rte_pktmbuf_mtod(frames[i], const uint8_t *),
								     rte_pktmbuf_data_len(frames[i]), stamp);
	if (got)
		rte_pktmbuf_free_bulk(frames, got);
	return got;
}

bool loop_interrupted(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

static bool all_sent(const struct trial *t)
{
	for (unsigned int i = 0; i < STREAMS; i++)
		if (t->streams[i].active && t->streams[i].sent < t->streams[i].intended)
			return false;
	return true;
}

uint64_t loop_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

/* All ports once, and what other lanes have handed over. Whether any frame came. */
INLINE bool receive_all(struct trial *t, struct lanes_state *state, const bool several)
{
	uint32_t got = 0;

	for (unsigned int i = 0; i < PAIR; i++)
		got += receive(t, i, several);
	if (several) {
		crossing_take(t);
		if (got)
			__atomic_store_n(&state->lane[t->lane].last_arrival, t->now, __ATOMIC_RELAXED);
	}
	return got;
}

/* Frames of the whole trial that left until now. */
INLINE uint64_t sent_until_now(const struct trial *t, const struct lanes_state *state, const bool several)
{
	uint64_t sent = t->streams[0].sent + t->streams[1].sent;

	for (uint16_t i = 1; several && i < t->lanes; i++)
		sent += __atomic_load_n(&state->lane[i].sent, __ATOMIC_RELAXED);
	return sent;
}

INLINE void send_phase(struct trial *t, const struct loop_order *o, struct loop_record *record, struct lanes_state *state,
		       const bool several)
{
	const struct pace *pace = o->pace;
	const bool first = !several || t->lane == 0;
	uint64_t look_every = (uint64_t)(CONTROL_LOOK_S * o->hz), millisecond = (uint64_t)(o->hz / 1e3);
	uint64_t before = rte_rdtsc(), look_at = before + look_every;

	while (!all_sent(t)) {
		uint64_t now = rte_rdtsc();

		/* The first pass may come before the start; a gap counts while frames are due. */
		if (now >= pace->start) {
			uint64_t gap = now - RTE_MAX(before, pace->start);

			if (gap > record->largest_gap)
				record->largest_gap = gap;
			record->gaps_over_1ms += gap > millisecond;
			if (now > pace->end)
				break;
			if (first && (!several || now >= extras_next())) /* the first frame of a trial or a second (rfc2544-11.2, 11.3) */
				extras_send(now, sent_until_now(t, state, several));
			for (unsigned int i = 0; i < STREAMS; i++)
				if (t->streams[i].active)
					send_due(t, &t->streams[i], pace, now, record, several);
		}
		before = now;
		receive_all(t, state, several);
		record->passes++;
		if (several) {
			__atomic_store_n(&state->lane[t->lane].sent, t->streams[0].sent + t->streams[1].sent, __ATOMIC_RELAXED);
			if (__atomic_load_n(&state->aborted, __ATOMIC_RELAXED))
				break;
		}
		if (first && now > look_at) {
			look_at = now + look_every;
			if (loop_interrupted(o->control_fd)) {
				record->aborted = true;
				if (several)
					__atomic_store_n(&state->aborted, true, __ATOMIC_RELAXED);
				break;
			}
		}
	}
}

/* When the latest frame came to any lane. */
static uint64_t last_of_all(const struct lanes_state *state, uint16_t lanes)
{
	uint64_t last = 0;

	for (uint16_t i = 0; i < lanes; i++)
		last = RTE_MAX(last, __atomic_load_n(&state->lane[i].last_arrival, __ATOMIC_RELAXED));
	return last;
}

/* Returns for how many cycles it went on receiving after the last frame could leave. */
INLINE uint64_t drain(struct trial *t, const struct loop_order *o, struct lanes_state *state, const bool several)
{
	uint64_t start = rte_rdtsc(), last = start;

	for (;;) {
		uint64_t now = rte_rdtsc();

		if (receive_all(t, state, several))
			last = now;
		if (several) {
			uint64_t others = last_of_all(state, t->lanes);

			last = RTE_MAX(last, others);
		}
		if ((now > last && now - last > (uint64_t)(o->quiet_s * o->hz)) || now - start > (uint64_t)(o->limit_s * o->hz))
			return now - start;
	}
}

void loop_alone(struct trial *t, const struct loop_order *o, struct loop_record *record)
{
	uint64_t cpu_before_ns;

	record->real_time = precedence_raise((double)(o->pace->end - o->pace->start) / o->hz);
	cpu_before_ns = loop_cpu_ns();
	send_phase(t, o, record, NULL, false);
	record->cpu_ns = loop_cpu_ns() - cpu_before_ns;
	watchdogs_arm(false);
	precedence_lower();
	if (!record->aborted)
		record->residual = drain(t, o, NULL, false);
}

/* Until all lanes have come here no lane stops: another one may still have a frame for it. */
static void leave(struct trial *t, struct lanes_state *state)
{
	__atomic_add_fetch(&state->left, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&state->left, __ATOMIC_ACQUIRE) < t->lanes)
		crossing_take(t);
	crossing_take(t);
}

void loop_beside(struct trial *t, const struct loop_order *o, struct loop_record *record, struct lanes_state *state)
{
	uint64_t cpu_before_ns;

	record->real_time = precedence_raise((double)(o->pace->end - o->pace->start) / o->hz);
	cpu_before_ns = loop_cpu_ns();
	send_phase(t, o, record, state, true);
	record->cpu_ns = loop_cpu_ns() - cpu_before_ns;
	__atomic_add_fetch(&state->done_sending, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(&state->done_sending, __ATOMIC_ACQUIRE) < t->lanes)
		receive_all(t, state, true);
	if (t->lane == 0)
		watchdogs_arm(false);
	precedence_lower();
	if (t->lane == 0) {
		if (!record->aborted)
			record->residual = drain(t, o, state, true);
		__atomic_store_n(&state->over, true, __ATOMIC_RELEASE);
	} else {
		while (!__atomic_load_n(&state->over, __ATOMIC_ACQUIRE))
			receive_all(t, state, true);
	}
	leave(t, state);
}
