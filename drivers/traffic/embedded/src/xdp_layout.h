/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that the tester's process and its programs inside the kernel share. Times are CLOCK_MONOTONIC in ns. */
#ifndef BMWG_XDP_LAYOUT_H
#define BMWG_XDP_LAYOUT_H

#include "counts.h"
#include "signature.h"

#define XDP_STREAMS 2u
#define XDP_MIX_SIZES 8u
#define XDP_MIX_FRAMES 64u
/* One page less the room that the kernel keeps before and behind a live frame (measured on Linux 6.18: 3,408 passes). */
#define XDP_FRAME_OCTETS 3408u
#define XDP_START_NS 1000000u /* from the program's first run to the first frame */

struct xdp_step {
	uint64_t ns;
	uint32_t fraction; /* of a ns, 32 bits */
};

/* One direction's sender. Only the sending program writes it while a trial runs. */
struct xdp_sender {
	uint32_t active, broadcast_every;
	uint64_t intended, first;    /* frames, and those of the first stage */
	uint64_t then_ns;	     /* since the start: when the second stage begins */
	struct xdp_step step[2];
	uint64_t next_ns;	     /* when the next frame is due */
	uint32_t next_fraction;
	uint32_t in_a_row;	     /* frames that left with nothing between them */
	uint64_t sent, first_sent_ns, last_sent_ns, largest_burst, broadcast_sent;
	uint64_t broadcast_after, broadcast_least, broadcast_most; /* test frames at the last one; between two */
	int64_t largest_lateness_ns;
	uint32_t mix_frames, size_refused;
	uint8_t mix_order[XDP_MIX_FRAMES];
	/* of the special program: behind what every frame needs */
	uint64_t burst_frames;	     /* 0: no bursts that repeat; else `step[1]` is from one burst to the next */
	uint64_t burst_place;	     /* in its burst, of the frame that is next */
	uint64_t burst_ns;	     /* when the burst that is next, or under way, is due */
	uint32_t burst_fraction;
	struct burst_times burst;
	uint64_t sent_to[MAX_NETWORKS]; /* of `sent`, by destination network */
} __attribute__((aligned(128)));

struct xdp_sending {
	uint16_t number, frame_octets; /* trial, and the octets that a live frame begins with */
	uint32_t burst_limit, turn;
	uint32_t probe; /* the one frame that comes is sent as it is, to this port and one */
	uint64_t start_ns; /* 0: the program has not run yet */
	uint64_t last_ns;  /* since the start: nothing is sent after it */
	uint64_t before_ns, largest_gap_ns, gaps_over_1ms, passes;
	struct xdp_sender sender[XDP_STREAMS];
} __attribute__((aligned(128)));

/* What arrived at one port. Only the program of that port writes it: a queue is served by one CPU at a time. */
struct xdp_receiving {
	uint32_t expects;    /* a stream of the trial ends here; it has the other port's number */
	uint16_t number;     /* trial */
	int32_t added_octets; /* by which a frame arrives longer than it was sent: a tag added or taken away */
	struct expected expected;
	uint64_t unassigned; /* frames of no stream that ends here */
	uint64_t arrivals, last_arrival_ns;
	struct counts counts;
} __attribute__((aligned(128)));

/* Template 0 is that of a plain stream, 1 to 8 those of a mix, 9 the broadcast frame. */
#define XDP_BROADCAST (XDP_MIX_SIZES + 1u)
#define XDP_TEMPLATES (XDP_MIX_SIZES + 2u)

struct xdp_shared {
	struct xdp_sending sending;
	struct xdp_receiving receiving[XDP_STREAMS];
	struct frame_template template[XDP_STREAMS][XDP_TEMPLATES];
	struct destinations to[XDP_STREAMS];
	uint64_t window[XDP_STREAMS][WINDOW_WORDS];
};

#endif
