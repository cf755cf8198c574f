/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that arrive at another lane than the one that sent them. Only the lane that sent a frame counts it: whoever
 * receives it hands it over, so each lane's window has one writer, and a second copy is found wherever it arrives.
 */
#ifndef BMWG_CROSSING_H
#define BMWG_CROSSING_H

#include <rte_ring.h>

#include "account.h"

/* The upper six of a sequence number's 48 bits are the lane; the others its own frames: 82 hours of 14.88 million a second. */
#define LANE_SHIFT 42u

_Static_assert(LANES <= 1u << (48u - LANE_SHIFT), "a lane's number has six bits");

struct crossing {
	struct rte_ring *to[LANES], *from[LANES]; /* by the other lane; one writer and one reader each */
	uint64_t highest[STREAMS][LANES]; /* by stream and sending lane: next number in order in this lane's own queue */
	uint64_t handed;		  /* frames that went to the lanes that they belong to */
};

static inline uint64_t lane_sequence(const struct trial *t, uint64_t own)
{
	return (uint64_t)t->lane << LANE_SHIFT | own;
}

/* A lane's own frame as one of all frames of the stream: lanes take turns. */
static inline uint64_t lane_number(uint64_t own, uint16_t lane, uint16_t lanes)
{
	return own * lanes + lane;
}

/* How many of a stream's first `frames` frames are a lane's. */
static inline uint64_t lane_share(uint64_t frames, uint16_t lane, uint16_t lanes)
{
	return (frames + lanes - 1u - lane) / lanes;
}

/* Rings between `lanes` lanes, kept over trials; 0 or -1 with `f` set. Clears what a lane has of the trial before. */
int crossing_prepare(struct crossing *c, uint16_t lane, uint16_t lanes, struct failure *f);
/* Give another lane's frame to it. `late`: in this queue a later frame of the same lane came before it. */
void crossing_hand(struct trial *t, const struct stream *s, uint16_t to, uint64_t own, uint32_t stamp_delta, bool late);
/* Count what other lanes have handed over. */
void crossing_take(struct trial *t);

/* A frame that this lane sent, wherever it arrived. */
static inline __attribute__((always_inline)) void crossing_count(struct trial *t, struct stream *s, uint64_t own,
								 uint32_t stamp_delta, uint64_t now, bool late)
{
	struct counts *c = s->got;
	uint64_t *word = window_word(s->window, own), turn = window_turn(own);
	uint64_t seen = *word >> 32 == turn >> 32 ? *word : turn, bit = 1ull << (own % WINDOW_WORD_FRAMES);

	if (own >= s->sent) {
		c->corrupt++;
		return;
	}
	if (own >= c->highest) {
		c->highest = own + 1u;
	} else if (c->highest - own > WINDOW_REACH) {
		c->beyond_window++;
		return;
	} else if (seen & bit) {
		c->duplicate++;
		return;
	}
	c->reordered += late;
	*word = seen | bit;
	count_copy(c, &t->expected, lane_number(own, t->lane, t->lanes),
		   (uint64_t)((double)stamp_delta * t->ns_per_stamp + 0.5), now);
}

/* A frame of this trial and stream, whole as `from` sent it. */
static inline __attribute__((always_inline)) void crossing_account(struct trial *t, struct stream *s, uint16_t from,
								   uint64_t own, uint32_t stamp_delta)
{
	uint64_t *highest = &t->crossing->highest[s->index][from];
	bool late = own < *highest; /* rfc4737-3.3, of one queue: between queues there is no order */

	if (!late)
		*highest = own + 1u;
	if (from == t->lane)
		crossing_count(t, s, own, stamp_delta, t->now, late);
	else
		crossing_hand(t, s, from, own, stamp_delta, late);
}

#endif
