/* SPDX-License-Identifier: Apache-2.0 */
/* Several lanes: copies of the loop, each on a CPU of its own with a queue of every port; and what they counted, added up. */
#ifndef BMWG_LANES_H
#define BMWG_LANES_H

#include "crossing.h"
#include "loop.h"

struct lane {
	struct trial trial;
	struct loop_record record;
	struct crossing crossing;
};

/* As many lanes as the ports have queues; 0 or -1 with `f` set. */
int lanes_ready(struct lane *lanes, uint16_t count, struct failure *f);
/* Run a trial that was prepared in all of them, from the main thread. */
void lanes_run(struct lane *lanes, uint16_t count, const struct loop_order *o);
/* [{"sent_frames", "received_frames", "handed_frames", "cpu_ns", "passes", "largest_gap_ns"}, ...] */
json_t *lanes_json(const struct lane *lanes, uint16_t count);
/* Add what was counted of one stream, or one part of it, to another. */
void counts_add(struct counts *to, const struct counts *from);
/* Add what the others counted to the first; after it the first is the whole trial. */
void lanes_add(struct lane *lanes, uint16_t count);

#endif
