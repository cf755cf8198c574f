/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a receiver counts of one stream. The tester's own loop and its program inside the kernel run this same code, so
 * that a frame is one class in both.
 */
#ifndef BMWG_COUNTS_H
#define BMWG_COUNTS_H

#include "histogram.h"
#include "losses.h"
#include "signature.h"

/* Sequence numbers, counted down from the highest seen, in which a duplicate is told from a late first copy. */
#define WINDOW_FRAMES (1ull << 22)
#define WINDOW_WORD_FRAMES 32u
#define WINDOW_WORDS (WINDOW_FRAMES / WINDOW_WORD_FRAMES)
#define WINDOW_REACH (WINDOW_FRAMES - 64u)

/* Frames of one stream whose latency is told one by one (rfc2544-26.2, rfc8219-7.2). */
#define MAX_TAGS 1024u

struct counts {
	uint64_t received, duplicate, reordered, corrupt, foreign;
	uint64_t stale;	       /* frames of an older trial */
	uint64_t broadcast_received;
	uint64_t beyond_window; /* too old to tell first copy from duplicate: not in `received` */
	uint64_t highest;      /* next sequence number in order: one above the highest seen */
	struct histogram latency;
	struct losses losses;
	uint64_t tagged_ns[MAX_TAGS]; /* latency and one; 0: it never came */
	uint64_t tagged_at[MAX_TAGS]; /* when it came, on the clock of `now` */
	uint64_t from_network[MAX_NETWORKS]; /* of `received`, by the network that a frame was sent to */
};

/* Bursts that repeat, as they left; times on the clock of the sender. */
struct burst_times {
	uint64_t bursts;   /* that left whole */
	uint64_t began_at; /* the one under way */
	uint64_t lengths, longest;     /* from the first to the last frame of a burst: sum, and the longest */
	uint64_t intervals, shortest;  /* from the last frame of a burst to the first of the next */
};

/* One frame of a burst's, by its place in it, leaves at `now`; `before` is when the frame before did (0: none). */
static inline __attribute__((always_inline)) void burst_note(struct burst_times *b, uint64_t place, uint64_t frames,
							     uint64_t before, uint64_t now)
{
	uint64_t took;

	if (!place) {
		b->began_at = now;
		if (before) {
			took = now - before;
			b->intervals += took;
			if (b->bursts == 1u || took < b->shortest)
				b->shortest = took;
		}
	}
	if (place == frames - 1u) {
		took = now - b->began_at;
		b->lengths += took;
		if (took > b->longest)
			b->longest = took;
		b->bursts++;
	}
}

/* What all streams of a trial have in common. */
struct expected {
	uint64_t first;		      /* frames of the first stage */
	uint64_t tag_first, tag_step; /* the first tagged frame, and every so many after it */
	uint32_t tags;		      /* 0: none */
	uint32_t networks;	      /* 0: all frames go to one destination */
	uint64_t seed;		      /* by which their networks were drawn */
};

/*
 * One word of the window holds 32 frames and above them which turn of the window they belong to, so that nothing needs to
 * be cleared when the window moves. A word of an older turn has seen nothing.
 */
static inline __attribute__((always_inline)) uint64_t window_turn(uint64_t sequence)
{
	return (sequence / WINDOW_FRAMES + 1u) << 32;
}

static inline __attribute__((always_inline)) uint64_t *window_word(uint64_t *window, uint64_t sequence)
{
	return &window[sequence % WINDOW_FRAMES / WINDOW_WORD_FRAMES];
}

static inline __attribute__((always_inline)) bool window_seen(uint64_t *window, uint64_t sequence)
{
	uint64_t word = *window_word(window, sequence);

	return word >> 32 == window_turn(sequence) >> 32 && word >> sequence % WINDOW_WORD_FRAMES & 1u;
}

/* Apart from what is done for every frame: few trials ask for it, and the others are not to pay for it. */
static __attribute__((noinline, unused)) void count_network(struct counts *c, const struct expected *e, uint64_t sequence)
{
	uint32_t network = network_drawn(e->seed, sequence, e->networks);

	if (network < MAX_NETWORKS)
		c->from_network[network]++;
}

/* The first copy of a frame. `sequence` is its number among all frames of the stream. */
static inline __attribute__((always_inline)) void count_copy(struct counts *c, const struct expected *e, uint64_t sequence,
			      uint64_t latency_ns, uint64_t now)
{
	c->received++;
	c->losses.first_received += sequence < e->first;
	histogram_add(&c->latency, latency_ns);
	if (e->networks)
		count_network(c, e, sequence);
	if (e->tags && sequence >= e->tag_first) {
		uint64_t number = (sequence - e->tag_first) / e->tag_step;

		if (number < e->tags && number < MAX_TAGS && sequence == e->tag_first + number * e->tag_step) {
			c->tagged_ns[number] = latency_ns + 1u;
			c->tagged_at[number] = now;
		}
	}
}

/* A frame of this trial and stream, whole as it was sent, that arrived at `now`. */
static inline __attribute__((always_inline)) void count_sequence(struct counts *c, uint64_t *window, const struct expected *e, uint64_t sequence,
				  uint64_t latency_ns, uint64_t now)
{
	uint64_t bit = 1ull << (sequence % WINDOW_WORD_FRAMES), turn = window_turn(sequence);
	uint64_t *word = window_word(window, sequence);

	if (sequence >= c->highest) {
		if (sequence > c->highest)
			losses_note(&c->losses, c->highest, sequence - c->highest, c->losses.previous, now);
		c->losses.previous = now;
		c->highest = sequence + 1u;
	} else {
		if (c->highest - sequence > WINDOW_REACH) {
			c->beyond_window++;
			return;
		}
		if (*word >> 32 == turn >> 32 && *word & bit) {
			c->duplicate++;
			return;
		}
		c->reordered++; /* rfc4737-3.3: below the next expected number */
	}
	*word = (*word >> 32 == turn >> 32 ? *word : turn) | bit;
	count_copy(c, e, sequence, latency_ns, now);
}

#endif
