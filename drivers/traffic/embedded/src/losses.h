/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames were missing, and when: for system recovery (rfc2544-26.5) and reset (rfc6201). */
#ifndef BMWG_LOSSES_H
#define BMWG_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#define LOSS_RUNS_KEPT 32u

/* Frames that were missing when the next one came. Times are of arrival, in cycles; 0: there was no such arrival. */
struct loss_run {
	uint64_t first, frames, before, after;
};

struct losses {
	uint64_t runs;		  /* all, the kept ones among them */
	struct loss_run kept[LOSS_RUNS_KEPT]; /* the longest, in no order */
	unsigned int count, least; /* `least` is the shortest kept one */
	uint64_t previous;	  /* arrival of the frame before */
	uint64_t last_missing;	  /* of the latest run */
	uint64_t first_received;  /* unique frames of the first stage that arrived */
};

static inline __attribute__((always_inline)) void losses_note(struct losses *l, uint64_t first, uint64_t frames, uint64_t before, uint64_t after)
{
	unsigned int place = l->count;
	uint64_t shortest = UINT64_MAX;

	l->runs++;
	l->last_missing = first + frames - 1u;
	if (place >= LOSS_RUNS_KEPT) {
		place = l->least % LOSS_RUNS_KEPT;
		if (frames <= l->kept[place].frames)
			return;
	} else {
		l->count = place + 1u;
	}
	l->kept[place] = (struct loss_run){first, frames, before, after};
	/* The shortest: length and place in one number, so that a kernel's verifier sees one path and not thousands. */
	for (unsigned int i = 0; i < LOSS_RUNS_KEPT && i < l->count; i++) {
		uint64_t one = l->kept[i].frames * LOSS_RUNS_KEPT + i;

		if (one < shortest)
			shortest = one;
	}
	l->least = (unsigned int)(shortest % LOSS_RUNS_KEPT);
}

#ifndef __bpf__
#include <jansson.h>

#include "pace.h"

/*
 * Counts and times in ns since the first frame was due. `last_lost` is the highest number that never came, `any`
 * whether there is one: its time is when it was due.
 */
json_t *losses_json(const struct losses *l, const struct pace *pace, bool any, uint64_t last_lost);
#endif

#endif
