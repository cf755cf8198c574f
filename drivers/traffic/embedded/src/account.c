/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "account.h"
#include "clock.h"
#include "crossing.h"
#include "extra.h"
#include "neighbour.h"

bool account_last_lost(struct stream *s, uint64_t *last)
{
	struct counts *c = s->got;
	uint64_t lowest = c->highest > WINDOW_REACH ? c->highest - WINDOW_REACH : 0;

	if (s->sent > c->highest) {
		losses_note(&c->losses, c->highest, s->sent - c->highest, c->losses.previous, 0);
		*last = s->sent - 1u;
		return true;
	}
	if (c->received == s->sent)
		return false;
	for (uint64_t sequence = c->highest; sequence-- > lowest;)
		if (!window_seen(s->window, sequence)) {
			*last = sequence;
			return true;
		}
	*last = c->losses.last_missing; /* before the window: as it was when the next frame came */
	return true;
}

/*
 * Length and fill as sent, but for a tag that the trial has the DUT add or take away; headers are the DUT's to change
 * (MAC, TTL), so they are not compared. A link fills up what became too short for it.
 */
static bool intact(const struct stream *s, uint64_t sequence, const uint8_t *frame, uint32_t length, uint32_t offset)
{
	const struct frame_template *template = stream_template(s, sequence);
	uint32_t fill = offset + sizeof(struct signature), added = (uint32_t)s->added_octets;
	uint32_t due = template->length + added;

	if (due < LEAST_OCTETS && length == LEAST_OCTETS && s->added_octets < 0)
		length = due;
	return length == due && offset == template->signature_offset + added &&
	       memcmp(frame + fill, template->octets + (fill - added), length - fill) == 0;
}

/* Whether the lane that sent it had got so far, that lane looks. */
static inline __attribute__((always_inline)) void account_of_lanes(struct trial *t, struct stream *s, const uint8_t *frame, uint32_t length, uint32_t offset,
			     uint64_t sequence, uint32_t stamp_delta)
{
	uint64_t lane = sequence >> LANE_SHIFT, own = sequence & ((1ull << LANE_SHIFT) - 1u);
	uint64_t number = lane_number(own, (uint16_t)lane, t->lanes);

	if (lane >= t->lanes || number >= s->all || !intact(s, number, frame, length, offset)) {
		s->got->corrupt++;
		return;
	}
	crossing_account(t, s, (uint16_t)lane, own, stamp_delta);
}

/* Compiled twice: a trial of one lane is not to pay for others. */
static inline __attribute__((always_inline)) void account(struct trial *t, unsigned int port, const uint8_t *frame,
							  uint32_t length, uint32_t stamp, const bool several)
{
	struct stream *s = NULL;
	const struct signature *signature;
	bool tagged;
	int offset;

	for (unsigned int i = 0; i < STREAMS; i++)
		if (t->streams[i].active && t->streams[i].rx == &ports[port])
			s = &t->streams[i];
	offset = frame_signature_offset(frame, length, &tagged);
	if (offset < 0) {
		if (s && frame_is_broadcast(frame, length)) {
			s->got->broadcast_received++;
			return;
		}
		if (neighbour_input(&ports[port], frame, length) || extras_input(port, frame, length))
			return;
		if (s)
			s->got->foreign++;
		else
			t->unassigned[port]++;
		return;
	}
	if (!s) {
		t->unassigned[port]++;
		return;
	}
	signature = (const struct signature *)(frame + offset);
	if (!signature_valid(signature)) {
		s->got->corrupt++;
		return;
	}
	if (signature->trial_stream >> 1 != t->number) {
		s->got->stale++;
		return;
	}
	uint64_t sequence = (uint64_t)signature->sequence_high << 32 | signature->sequence_low;

	if ((signature->trial_stream & 1u) != s->index) {
		t->unassigned[port]++;
		return;
	}
	if (several) {
		account_of_lanes(t, s, frame, length, (uint32_t)offset, sequence, stamp - signature->stamp);
		return;
	}
	if (sequence >= s->sent || !intact(s, sequence, frame, length, (uint32_t)offset)) {
		s->got->corrupt++;
		return;
	}
	count_sequence(s->got, s->window, &t->expected, sequence,
		       (uint64_t)((double)(stamp - signature->stamp) * t->ns_per_stamp + 0.5), t->now);
}

void account_frame(struct trial *t, unsigned int port, const uint8_t *frame, uint32_t length, uint32_t stamp)
{
	account(t, port, frame, length, stamp, false);
}

void account_frame_of_lanes(struct trial *t, unsigned int port, const uint8_t *frame, uint32_t length, uint32_t stamp)
{
	account(t, port, frame, length, stamp, true);
}
