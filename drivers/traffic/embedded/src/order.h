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
	json_int_t tag_first, tag_step, tags;
	uint32_t mix[MIX_FRAMES], mix_frames; /* frame sizes that repeat, FCS included */
	bool forward, reverse, loss_times;
	double load_fps, then_load_fps, late_s, quiet_s, limit_s;
	uint32_t burst_limit;
};

/* Read and check an order; ports must be attached. */
int order_read(const json_t *spec, struct order *o, struct failure *f);

#endif
