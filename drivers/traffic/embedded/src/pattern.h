/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial between more ports than two (rfc2889): who sends to whom, and what came to each port. A loop of its own, so that
 * a trial between two ports pays nothing for it.
 *
 * The upper bits of a frame's sequence number are the port that sent it (the place where several lanes have theirs), the
 * others its number among that port's frames. From both the receiver knows which port should have the frame. At another
 * port it is flooded: a switch sent it where it was not wanted.
 */
#ifndef BMWG_PATTERN_H
#define BMWG_PATTERN_H

#include "loop.h"
#include "order.h"

#define PATTERN_SHIFT 42u /* as LANE_SHIFT of crossing.h */
#define MAX_ADDRESSES 1048576u

_Static_assert(PORTS <= 1u << (48u - PATTERN_SHIFT), "a port's number has six bits");

struct pattern_pair {
	struct frame_template template __rte_cache_aligned;
	struct counts got; /* of the frames that one port sent to the other */
	uint64_t *window;
};

struct pattern_sender {
	uint32_t receivers; /* 0: it does not send */
	uint8_t receiver[PORTS]; /* in turn; of broadcast frames all of them at once */
	uint64_t sent, backpressure, largest_burst, largest_lateness, first_sent_at, last_sent_at;
	uint64_t returned; /* its own frames that came back to it */
	struct burst_times burst; /* of bursts that repeat */
};

/* Test frames that came to a port and are of no pair. */
struct pattern_port {
	uint64_t flooded, corrupt, foreign, stale;
};

struct pattern {
	uint16_t number;
	bool broadcast;
	bool moving;   /* more than one port sends: the rhythm of each moves against the others' (phase.h) */
	uint64_t seed; /* by which phases are drawn, and pairs of addresses */
	uint32_t sources, destinations; /* MAC addresses of each port that its frames have in turn; 1: the port's own */
	uint32_t mac_step; /* from one numbered address to the next; odd, so that each has an address of its own */
	uint64_t start;	   /* of the trial, cycles */
	uint64_t burst_frames; /* of each burst; 0: a constant load */
	uint64_t intended;		/* of each sender */
	double ns_per_stamp;
	uint64_t now; /* when the frames that are being accounted for arrived, cycles */
	struct expected expected;
	struct pattern_sender sender[PORTS];
	struct pattern_port port[PORTS];
	struct pattern_pair pair[PORTS][PORTS]; /* by sender and receiver */
};

/* Read what a trial asks for; 0 or -1 with `f` set. */
int pattern_prepare(struct pattern *p, const json_t *spec, const struct order *o, double hz, struct failure *f);
void pattern_loop(struct pattern *p, const struct loop_order *o, struct loop_record *record);
/* What was counted, port by port; `least_received` gets how many frames each port took in. */
json_t *pattern_json(struct pattern *p, uint64_t *least_received);
/* How many of a sender's first `sent` frames were for its receiver number `turn`. */
static inline uint64_t pattern_share(uint64_t sent, uint32_t turn, uint32_t receivers)
{
	return (sent + receivers - 1u - turn) / receivers;
}

#endif
