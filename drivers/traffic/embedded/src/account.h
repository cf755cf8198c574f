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

struct stream {
	bool active;
	uint8_t index;
	struct port *tx, *rx;
	struct frame_template template;
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
};

struct trial {
	uint16_t number;
	struct stream streams[2];
	/* frames that came to a port to which no stream of the trial goes, or back to their own sender */
	uint64_t unassigned[PORTS];
	double ns_per_stamp;
	uint64_t first; /* frames of the first stage */
	uint64_t now;	/* when the frames that are being accounted for arrived, cycles */
};

void account_frame(struct trial *t, unsigned int port, const uint8_t *frame, uint32_t length, uint32_t stamp);
/* After the last frame: what is missing at the end counts too. Whether any frame was lost; `last` gets the highest. */
bool account_last_lost(struct stream *s, uint64_t *last);

#endif
