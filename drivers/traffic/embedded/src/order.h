/* SPDX-License-Identifier: Apache-2.0 */
/* One trial as it is asked for over the channel. */
#ifndef BMWG_ORDER_H
#define BMWG_ORDER_H

#include <jansson.h>

#include "account.h"
#include "frames.h"
#include "pace.h"

struct order {
	struct frame_plan plan;
	json_int_t number, intended;
	json_int_t first; /* frames at `load_fps`; the others follow at `then_load_fps` */
	json_int_t broadcast_every;
	json_int_t added_tags; /* that the DUT adds to each frame, or takes away */
	json_int_t tag_first, tag_step, tags;
	json_int_t networks, step_bits, seed; /* 0 networks: all frames go to one destination (rfc2544-12) */
	uint8_t first_destination[2][16];     /* by the stream that goes there, in network order */
	uint32_t mix[MIX_FRAMES], mix_frames; /* frame sizes that repeat, FCS included */
	bool forward, reverse, loss_times;
	json_int_t burst_frames; /* 0: no bursts that repeat; else `load_fps` is the mean over them (rfc2544-21) */
	double burst_fps;	 /* within a burst */
	double load_fps, then_load_fps, late_s, quiet_s, limit_s;
	uint32_t burst_limit;
	const json_t *source_ports; /* by stream and lane, lists of them; null: the lanes share the usual ones */
};

/* Read and check an order; ports must be attached. */
int order_read(const json_t *spec, struct order *o, struct failure *f);

#endif
