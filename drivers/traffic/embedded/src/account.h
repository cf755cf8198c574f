/* SPDX-License-Identifier: Apache-2.0 */
/* Accounting: every received frame is put into exactly one class. */
#ifndef BMWG_ACCOUNT_H
#define BMWG_ACCOUNT_H

#include "counts.h"
#include "frames.h"
#include "ports.h"

#define STREAMS 2u /* one from each port */

/* Sizes of one mix, and frames until it repeats (rfc6985). */
#define MIX_SIZES 8u
#define MIX_FRAMES 64u

struct stream {
	bool active;
	uint8_t index; /* the port that sends it */
	struct port *tx, *rx;
	struct frame_template template __rte_cache_aligned; /* copied into each frame: 8 % of its cycles at 1518 octets */
	struct frame_template mix[MIX_SIZES];
	uint8_t mix_order[MIX_FRAMES]; /* which of `mix` each frame is */
	uint32_t mix_frames;	       /* 0: all frames are `template` */
	const struct destinations *to; /* with `networks` 0 all go where the template does */
	uint64_t sent_to[MAX_NETWORKS]; /* of `sent`, by network */
	uint16_t source_ports[MAX_FLOWS]; /* of several lanes: what this one's frames have in turn */
	uint32_t flows;			  /* how many of them; 0: all have that of the template */
	uint64_t intended, sent; /* of this lane */
	uint64_t all;		 /* intended of all lanes together */
	int32_t added_octets;	 /* by which a frame arrives longer than it was sent: a tag that the DUT adds, or takes away */
	/* sender */
	uint64_t largest_burst, largest_lateness, first_sent_at, last_sent_at, backpressure;
	uint64_t burst_frames; /* 0: no bursts that repeat */
	struct burst_times burst;
	uint32_t broadcast_every; /* 0: none */
	uint64_t broadcast_sent; /* frames of the modifier, beside `sent` (rfc2544-11.1) */
	uint64_t broadcast_after, broadcast_least, broadcast_most; /* test frames at the last one; between two of them */
	/* receiver: classes of frames that arrived at `rx` */
	struct counts *got;
	uint64_t *window; /* WINDOW_WORDS of them */
};

static inline const struct frame_template *stream_template(const struct stream *s, uint64_t sequence)
{
	return s->mix_frames ? &s->mix[s->mix_order[sequence % s->mix_frames]] : &s->template;
}

/* A trial as one lane sends and counts it. */
struct trial {
	uint16_t number;
	uint16_t lane, lanes;	   /* which of how many; also its queue of each port */
	struct crossing *crossing; /* to and from the other lanes; NULL: there are none */
	struct stream streams[STREAMS];
	/* frames that came to a port to which no stream of the trial goes, or back to their own sender */
	uint64_t unassigned[PAIR];
	double ns_per_stamp;
	struct expected expected;
	uint64_t now;	/* when the frames that are being accounted for arrived, cycles */
};

void account_frame(struct trial *t, unsigned int port, const uint8_t *frame, uint32_t length, uint32_t stamp);
/* The same in one lane of several. */
void account_frame_of_lanes(struct trial *t, unsigned int port, const uint8_t *frame, uint32_t length, uint32_t stamp);
/* After the last frame: what is missing at the end counts too. Whether any frame was lost; `last` gets the highest. */
bool account_last_lost(struct stream *s, uint64_t *last);

#endif
