/* SPDX-License-Identifier: Apache-2.0 */
/* Accounting: every received frame is put into exactly one class. */
#ifndef BMWG_ACCOUNT_H
#define BMWG_ACCOUNT_H

#include "frames.h"
#include "histogram.h"
#include "losses.h"
#include "ports.h"

/* Sequence numbers, counted down from the highest seen, in which a duplicate is told from a late first copy. */
#define WINDOW_FRAMES (1ull << 22)

/* Sizes of one mix, and frames until it repeats (rfc6985). */
#define MIX_SIZES 8u
#define MIX_FRAMES 64u
/* Frames of one stream whose latency is told one by one (rfc2544-26.2, rfc8219-7.2). */
#define MAX_TAGS 1024u

struct stream {
	bool active;
	uint8_t index;
	struct port *tx, *rx;
	struct frame_template template;
	struct frame_template mix[MIX_SIZES];
	uint8_t mix_order[MIX_FRAMES]; /* which of `mix` each frame is */
	uint32_t mix_frames;	       /* 0: all frames are `template` */
	uint64_t intended, sent;
	/* sender */
	uint64_t largest_burst, largest_lateness, first_sent_at, last_sent_at, backpressure;
	uint32_t broadcast_every; /* 0: none */
	uint64_t broadcast_sent; /* frames of the modifier, beside `sent` (rfc2544-11.1) */
	/* receiver: classes of frames that arrived at `rx` */
	uint64_t received, duplicate, reordered, corrupt, foreign;
	uint64_t stale;	       /* frames of an older trial */
	uint64_t broadcast_received;
	uint64_t beyond_window; /* too old to tell first copy from duplicate: not in `received` */
	uint64_t highest;      /* next sequence number in order: one above the highest seen */
	uint64_t *window;
	struct histogram latency;
	struct losses losses;
	uint64_t tagged_ns[MAX_TAGS]; /* latency and one; 0: it never came */
	uint64_t tagged_at_ns[MAX_TAGS]; /* when it was sent, since the first frame was */
};

static inline const struct frame_template *stream_template(const struct stream *s, uint64_t sequence)
{
	return s->mix_frames ? &s->mix[s->mix_order[sequence % s->mix_frames]] : &s->template;
}

struct trial {
	uint16_t number;
	struct stream streams[2];
	/* frames that came to a port to which no stream of the trial goes, or back to their own sender */
	uint64_t unassigned[PORTS];
	double ns_per_stamp;
	uint64_t first; /* frames of the first stage */
	uint64_t tag_first, tag_step; /* the first tagged frame, and every so many after it */
	uint32_t tags;		      /* 0: none */
	uint64_t now;	/* when the frames that are being accounted for arrived, cycles */
};

void account_frame(struct trial *t, unsigned int port, const uint8_t *frame, uint32_t length, uint32_t stamp);
/* After the last frame: what is missing at the end counts too. Whether any frame was lost; `last` gets the highest. */
bool account_last_lost(struct stream *s, uint64_t *last);

#endif
